// Text without a screen: what a token looks like, and about how wide it is.
// Token text is untrusted: control and direction characters are shown by name, never obeyed.

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
const HIDDEN = /[\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/;
const COMBINING =
  /[\u0300-\u036f\u0483-\u0489\u064b-\u065f\u0e31\u0e34-\u0e3a\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]/;
const LONE = /[\ud800-\udfff]/;
const WIDE = /[\u1100-\u115f\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]/;
const PRINTABLE = /^[!-~](?:[ -~]*[!-~])?$/;
const NARROW = new Set("iljtfrI.,:;'|!()[]{}`\" /\\-");
const BROAD = new Set("mwMW@%—…");

// Text as shown: printable, at most `most` characters, spaces at the ends kept only if asked for.
export function shown(text, most = 200, spaces = false) {
  const bare = spaces ? text : String(text).trim();
  if (bare.length <= most && PRINTABLE.test(bare)) return bare;
  const out = [];
  let marks = 0;
  for (const char of String(text).slice(0, 4 * most)) {
    if (out.length >= most) break;
    const combining = COMBINING.test(char);
    marks = combining ? marks + 1 : 0;
    if (marks > 2) continue;
    out.push(...visible(char, combining && out.length === 0));
  }
  const cut = out.length >= most && String(text).length > out.join("").length;
  let line = out.join("");
  line = spaces ? line.replace(/ /g, "␣") : line.trim() || (line && "␣");
  return cut ? `${line.slice(0, -1)}…` : line;
}

function visible(char, needsBase) {
  if (char === "\n") return ["↵"];
  if (char === "\t") return ["⇥"];
  if (CONTROL.test(char)) return ["�"];
  if (HIDDEN.test(char)) return [`‹${char.codePointAt(0).toString(16).toUpperCase()}›`];
  if (char.length === 1 && LONE.test(char)) return ["�"];
  return needsBase ? ["◌", char] : [char];
}

// About how wide a text is at a font size, in px; a little more than true in common sans fonts.
export function widthOf(text, size, bold = false) {
  let em = 0;
  for (const char of text) em += emOf(char);
  return em * size * (bold ? 1.08 : 1);
}

function emOf(char) {
  if (COMBINING.test(char)) return 0;
  if (char.length > 1 || WIDE.test(char)) return 1.25;
  if (NARROW.has(char)) return 0.36;
  if (BROAD.has(char)) return 0.94;
  if (char >= "A" && char <= "Z") return 0.7;
  return char < "\u0250" ? 0.575 : 0.75;
}

// The text, shortened with an ellipsis to fit a width in px.
export function fitted(text, width, size, bold = false) {
  if (widthOf(text, size, bold) <= width) return text;
  let kept = "";
  let used = widthOf("…", size, bold);
  for (const char of text) {
    used += widthOf(char, size, bold);
    if (used > width) break;
    kept += char;
  }
  return `${kept.trimEnd()}…`;
}

// The end of a text that fits a width, led by an ellipsis where something was left out.
export function fittedEnd(text, width, size) {
  if (widthOf(text, size) <= width) return text;
  const chars = Array.from(text.slice(-2000));
  let used = widthOf("… ", size);
  let i = chars.length;
  while (i > 0 && used + widthOf(chars[i - 1], size) <= width) used += widthOf(chars[--i], size);
  const tail = chars.slice(i).join("");
  const word = tail.indexOf(" ");
  return `… ${word >= 0 && word < 24 ? tail.slice(word + 1) : tail}`;
}

// Words broken into at most `most` lines of a width.
export function wrapped(text, width, size, most, bold = false) {
  const lines = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line ? `${line} ${word}` : word;
    if (widthOf(longer, size, bold) <= width || !line) line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  lines.push(line);
  if (lines.length > most) lines.splice(most - 1, lines.length, lines.slice(most - 1).join(" "));
  return lines.map((each) => fitted(each, width, size, bold));
}
