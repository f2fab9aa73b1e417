// Tags words by wink-nlp with its English model (both MIT licence): one sentence a line, words with spaces between
// them; writes the universal part of speech of each word. A word that wink-nlp divides has the tag of its last part.
// A line that it does not divide at the same places is written empty.
//
//   npm install wink-nlp@2.4.0 wink-eng-lite-web-model@1.8.1
//   node tagger_labels.js < WORK/tagger/words.txt > WORK/tagger/tags.txt

const nlp = require("wink-nlp")(require("wink-eng-lite-web-model"));
const lines = require("fs").readFileSync(0, "utf8").split("\n").slice(0, -1);

function tags(line) {
  const tokens = nlp.readDoc(line).tokens();
  const parts = tokens.out();
  const labels = tokens.out(nlp.its.pos);
  let next = 0;
  const found = [];
  for (const word of line.split(" ")) {
    let read = "";
    while (read.length < word.length && next < parts.length) {
      read += parts[next++];
    }
    if (read !== word) return [];
    found.push(labels[next - 1]);
  }
  return found;
}

for (const line of lines) console.log(tags(line).join(" "));
