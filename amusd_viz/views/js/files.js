// Files in and out: a trace dropped on the theater, pictures and traces to keep.

import { readTrace } from "./read.js";
import { svgOf } from "./svg.js";
import { say } from "./sentences.js";

const MOST_BYTES = 64e6;

// Opens trace files dropped on an element; onTraces(texts) or onProblem(sentence).
export function acceptDrops(target, onTraces, onProblem) {
  target.addEventListener("dragover", (event) => {
    if (![...(event.dataTransfer?.types ?? [])].includes("Files")) return;
    event.preventDefault();
    target.classList.add("amusd-dropping");
  });
  target.addEventListener("dragleave", () => target.classList.remove("amusd-dropping"));
  target.addEventListener("drop", async (event) => {
    target.classList.remove("amusd-dropping");
    const files = [...(event.dataTransfer?.files ?? [])].slice(0, 3);
    if (!files.length) return;
    event.preventDefault();
    event.stopPropagation();
    try {
      const texts = await Promise.all(files.map(textOfFile));
      texts.forEach((text, i) => readTrace(text, files[i].name));
      onTraces(texts);
    } catch (error) {
      onProblem(error.message);
    }
  });
}

async function textOfFile(file) {
  if (file.size > MOST_BYTES)
    throw new Error(say("tooBig", { name: file.name, size: Math.round(file.size / 1e6) }));
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return new TextDecoder().decode(bytes);
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(plain).text();
}

export function keep(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export function keepSvg(drawing, dark) {
  keep("theater.svg", new Blob([svgOf(drawing, dark ? "dark" : "light")], { type: "image/svg+xml" }));
}

// Twice the size on screen, drawn from the same SVG.
export async function keepPng(drawing, dark) {
  const svg = svgOf(drawing, dark ? "dark" : "light");
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = 2 * image.width;
  canvas.height = 2 * image.height;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  keep("theater.png", await new Promise((done) => canvas.toBlob(done, "image/png")));
}

export function traceText({ header, events }) {
  return [header, ...events].map((each) => JSON.stringify(each)).join("\n") + "\n";
}
