// Opens each page that is named; the last argument is a folder for pictures, or empty.
import { chromium } from "playwright-core";
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";

const pages = process.argv.slice(2, -1);
const pictures = process.argv.at(-1);
const axe = fs.readFileSync("node_modules/axe-core/axe.min.js", "utf8");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});

for (const file of pages) {
  const address = `file://${path.resolve(file)}`;
  const size = fs.statSync(file).size;
  assert.ok(size <= 1_000_000, `${file}: ${size} bytes`);

  // As a user opens it.
  const context = await browser.newContext({ offline: true });
  const page = await context.newPage();
  const requests = [];
  const said = [];
  page.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("dialog", (dialog) => { said.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  const began = performance.now();
  await page.goto(address);
  const opened = performance.now() - began;
  assert.deepEqual(requests, [address], "nothing is fetched");
  const nothingRan = async () => assert.equal(await page.evaluate(() => window.pwned), undefined, "a text ran");
  await nothingRan();

  // The first column by which numbers are sorted.
  const table = page.locator("#curve table");
  const column = async (name) => {
    const heads = await table.locator("thead th").allTextContents();
    const place = heads.findIndex((head) => head.startsWith(name)) + 1;
    const cells = await table.locator(`tbody tr td:nth-child(${place})`).evaluateAll((all) => all.map((cell) => Number(cell.dataset.value)));
    return cells;
  };
  const button = table.getByRole("button", { name: "empirical" });
  await button.focus();
  await page.keyboard.press("Enter");
  const rising = await column("empirical");
  assert.deepEqual(rising, [...rising].sort((a, b) => a - b), "sorted by keyboard");
  await button.click();
  assert.deepEqual(await column("empirical"), [...rising].reverse(), "and the other way");

  // Every trial of every sample, page by page, and the filters.
  let shown = 0;
  for (const sample of await page.locator("[data-trials]").all()) {
    const rows = sample.locator("tbody tr");
    const next = sample.getByRole("button", { name: "Next" });
    shown += await rows.count();
    while (await next.isEnabled()) {
      await next.click();
      shown += await rows.count();
      await nothingRan();
    }
    await sample.getByRole("combobox", { name: "Guess" }).selectOption("wrong");
    for (const text of await rows.locator("td:nth-child(6)").allTextContents()) assert.match(text, /^wrong/);
    await sample.getByRole("combobox", { name: "Guess" }).selectOption("");
    await sample.getByRole("searchbox").fill("no text of the data has this");
    assert.equal(await rows.count(), 0);
    await sample.getByRole("searchbox").fill("");
  }
  assert.ok(shown > 100, `${shown} trials`);
  await nothingRan();
  assert.deepEqual(said, [], "nothing is said on the console");

  // What the policy allows: nothing but the page's own script.
  await page.evaluate(() => {
    const image = document.createElement("img");
    image.setAttribute("onerror", "window.pwned = 1");
    image.src = "data:image/png;base64,broken";
    document.body.append(image);
  });
  await page.waitForTimeout(50);
  await nothingRan();
  const pdf = await page.pdf({ format: "A4" });
  assert.ok(pdf.length > 10_000);
  if (pictures) await page.screenshot({ path: path.join(pictures, `${path.basename(path.dirname(file))}.png`) });
  await context.close();

  // axe is a second script, which the policy would not run.
  let rules = 0;
  const free = await browser.newContext({ bypassCSP: true });
  for (const colorScheme of ["light", "dark"]) {
    const page = await free.newPage();
    await page.emulateMedia({ colorScheme });
    await page.goto(address);
    await page.evaluate(axe);
    const { violations, passes } = await page.evaluate(() => axe.run());
    assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes[0].html}`), []);
    rules = passes.length;
    if (pictures) await page.screenshot({ path: path.join(pictures, `${path.basename(path.dirname(file))}-${colorScheme}.png`), fullPage: true });
  }
  await free.close();

  // Without its script.
  const still = await browser.newContext({ javaScriptEnabled: false });
  const plain = await still.newPage();
  await plain.goto(address);
  for (const section of ["verdicts", "curve", "trials", "provenance"]) {
    assert.ok(await plain.locator(`#${section}`).isVisible(), section);
  }
  assert.ok(await plain.locator("#trials tbody tr").count() >= 10);
  await still.close();
  console.log(`${file}: ${size} bytes, opened in ${opened.toFixed(0)} ms, ${shown} trials paged, PDF ${pdf.length} bytes, axe: ${rules} rules passed, 0 violations`);
}
await browser.close();
