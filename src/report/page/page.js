"use strict";
// Everything that is shown is set as text: a text of the data can never become markup.
(() => {
  const made = (name, text, kind) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };

  // Tables whose head says so are sorted by a click on a column's name.
  const value = (row, column) => {
    const cell = row.cells[column];
    const number = cell.dataset.value;
    return number === undefined ? cell.textContent : Number(number);
  };
  const sort = (table, head, column) => {
    const descending = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const rows = Array.from(table.tBodies[0].rows);
    rows.sort((a, b) => {
      const [x, y] = [value(a, column), value(b, column)];
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return descending ? -order : order;
    });
    table.tBodies[0].append(...rows);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
      const button = made("button", head.textContent);
      button.type = "button";
      button.addEventListener("click", () => sort(table, head, column));
      head.replaceChildren(button);
    });
  }

  // The sample of trials of each run: filters and pages.
  const SHOWN = 25;
  for (const place of document.querySelectorAll("[data-trials]")) {
    const data = JSON.parse(document.getElementById(place.dataset.trials).textContent);
    const body = place.querySelector("tbody");
    const bar = made("fieldset");
    bar.append(made("legend", "Which trials"));
    const choice = (words, options) => {
      const label = made("label", words);
      const select = made("select");
      options.forEach(([key, text]) => {
        const option = made("option", text);
        option.value = key;
        select.append(option);
      });
      label.append(select);
      bar.append(label);
      return select;
    };
    const cell = choice("Cell ", [["", "all"], ...data.cells.map((name, index) => [String(index), name])]);
    const outcome = choice("Guess ", [["", "any"], ["right", "right"], ["wrong", "wrong"], ["failed", "failed"]]);
    const label = made("label", "Text ");
    const search = made("input");
    search.type = "search";
    label.append(search);
    bar.append(label);
    const pages = made("p", undefined, "pages");
    const back = made("button", "Previous", "page");
    const next = made("button", "Next", "page");
    const where = made("span");
    where.setAttribute("aria-live", "polite");
    back.type = next.type = "button";
    pages.append(back, " ", next, " ", where);
    place.prepend(bar, pages);
    const texts = (numbers) => numbers.map((number) => data.texts[number]);
    const rows = data.trials.flatMap((trial) => trial.g.map(([cell, guess, margin]) => {
      const candidates = texts(trial.k);
      const state = trial.e !== null ? "failed" : guess === trial.s ? "right" : "wrong";
      return { cell, state, trial: trial.t, source: candidates[trial.s], release: trial.r, error: trial.e, guess, margin,
        taken: candidates[guess], others: candidates.filter((_, place) => place !== trial.s) };
    }));
    let first = 0;
    const bidi = (text) => {
      const cell = made("td", undefined, "text");
      const isolated = made("bdi", text);
      isolated.dir = "auto";
      cell.append(isolated);
      return cell;
    };
    const draw = () => {
      const wanted = search.value.toLowerCase();
      const found = rows.filter((row) =>
        (cell.value === "" || row.cell === Number(cell.value)) &&
        (outcome.value === "" || row.state === outcome.value) &&
        (wanted === "" || [row.source, row.release, row.error || "", ...row.others].some((text) => text.toLowerCase().includes(wanted))));
      first = Math.max(0, Math.min(first, Math.floor((found.length - 1) / SHOWN) * SHOWN));
      body.replaceChildren(...found.slice(first, first + SHOWN).map((row) => {
        const line = made("tr");
        const guess = row.state === "wrong" ? `wrong: ${row.taken}` : row.state;
        line.append(made("td", data.cells[row.cell]), made("td", String(row.trial), "n"), bidi(row.source),
          bidi(row.error === null ? row.release : `(no release or no score: ${row.error})`), bidi(row.others.join(" ⏐ ")));
        const said = bidi(guess);
        said.className = `text ${row.state}`;
        line.append(said, made("td", row.margin === null ? "" : row.margin.toPrecision(3), "n"));
        return line;
      }));
      where.textContent = found.length === 0 ? "no such trial" : `${first + 1} to ${Math.min(first + SHOWN, found.length)} of ${found.length}`;
      back.disabled = first === 0;
      next.disabled = first + SHOWN >= found.length;
    };
    for (const control of [cell, outcome]) control.addEventListener("change", () => { first = 0; draw(); });
    search.addEventListener("input", () => { first = 0; draw(); });
    back.addEventListener("click", () => { first -= SHOWN; draw(); });
    next.addEventListener("click", () => { first += SHOWN; draw(); });
    draw();
  }
})();
