// A picture of a map as PNG: pod, sentence, map and legend.

const PAD = 24;
const NARROWEST = 720; // pixels; the sentence of a phone's map needs space
const SHARPNESS = 2; // minimum number of pixels of the file per pixel of the page
const LINE = 1.4;
const LEGEND = 13; // font size

/**
 * Return the picture as a blob. `view`: the map. `legend`: the element below it, whose items are drawn. `source`: where the
 * picture is from.
 */
export function still({ pod, step, sentence, view, legend, source }) {
  const { canvas, painter } = view;
  const { width: wide, height: high } = canvas.getBoundingClientRect();
  const width = Math.max(NARROWEST, wide) + 2 * PAD;
  const sheet = new Sheet(width, painter);
  const paint = () => {
    sheet.y = PAD;
    sheet.text(pod, { size: 20, weight: 650 });
    sheet.text(sentence, { size: 17 });
    sheet.text(step, { size: 13, ink: "ink-2" });
    sheet.y += 8;
    sheet.image(canvas, wide, high);
    sheet.y += 12;
    for (const item of legend.children) sheet.item(item);
    sheet.newLine();
    sheet.text(source, { size: 12, ink: "ink-3" });
    return sheet.y + PAD;
  };
  sheet.resize(paint()); // the first pass measures
  paint();
  return new Promise((done) => {
    sheet.canvas.toBlob(done, "image/png");
  });
}

class Sheet {
  constructor(width, { colour, font }) {
    Object.assign(this, { width, colour, font, x: PAD, y: PAD });
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d");
    this.scale = Math.max(SHARPNESS, devicePixelRatio || 1);
  }

  resize(height) {
    this.canvas.width = Math.round(this.width * this.scale);
    this.canvas.height = Math.round(height * this.scale);
    this.context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    this.context.fillStyle = this.colour.paper;
    this.context.fillRect(0, 0, this.width, height);
  }

  style({ size, weight = 400, ink = "ink" }) {
    this.context.font = `${weight} ${size}px ${this.font}`;
    this.context.fillStyle = this.colour[ink];
    this.context.textAlign = "left";
    this.context.textBaseline = "alphabetic";
  }

  // Writes a paragraph and moves below it.
  text(text, style) {
    if (!text) return;
    this.style(style);
    for (const line of this.lines(text)) {
      this.y += style.size * LINE;
      this.context.fillText(line, PAD, this.y - style.size * 0.35);
    }
  }

  // Breaks a text into lines; words that are longer than a line are broken as well.
  lines(text) {
    const space = this.width - 2 * PAD;
    const fits = (line) => this.context.measureText(line).width <= space;
    const found = [];
    let line = "";
    for (const word of text.split(/\s+/)) {
      const longer = line ? `${line} ${word}` : word;
      if (fits(longer)) {
        line = longer;
        continue;
      }
      if (line) found.push(line);
      line = word;
      while (!fits(line)) {
        let end = Math.floor((line.length * space) / this.context.measureText(line).width);
        while (end > 1 && !fits(line.slice(0, end))) end -= 1;
        found.push(line.slice(0, Math.max(1, end)));
        line = line.slice(Math.max(1, end));
      }
    }
    return line ? [...found, line] : found;
  }

  image(canvas, width, height) {
    this.context.drawImage(canvas, PAD, this.y, width, height);
    this.y += height;
  }

  // Draws an item of the legend behind the previous one, or on the next line.
  item(item) {
    this.style({ size: LEGEND, ink: "ink-2" });
    const marks = [...item.querySelectorAll("svg")];
    const text = [...item.childNodes]
      .filter((node) => node.nodeType === Node.TEXT_NODE)
      .map((node) => node.data)
      .join("");
    const sizes = marks.map((mark) => Number(mark.getAttribute("width")) + 3);
    const wide = sizes.reduce((sum, size) => sum + size, 0) + this.context.measureText(text).width;
    if (this.x > PAD && this.x + wide > this.width - PAD) this.newLine();
    for (const [index, mark] of marks.entries()) {
      this.mark(mark);
      this.x += sizes[index];
    }
    this.style({ size: LEGEND, ink: "ink-2" });
    this.context.fillText(text, this.x, this.y + 12, this.width - PAD - this.x);
    this.x += this.context.measureText(text).width + 16;
  }

  newLine() {
    this.x = PAD;
    this.y += 22;
  }

  // Draws a swatch: rectangles, lines and letters of an SVG image in the colours of the page.
  mark(svg) {
    const { context } = this;
    const size = Number(svg.getAttribute("width"));
    const unit = size / (svg.viewBox.baseVal?.width || size);
    context.save();
    context.translate(this.x, this.y);
    context.scale(unit, unit);
    context.beginPath();
    context.rect(0, 0, size / unit, size / unit);
    context.clip();
    for (const shape of svg.children) {
      context.save();
      const { a, b, c, d, e, f } = shape.transform.baseVal.consolidate()?.matrix ?? new DOMMatrix();
      context.transform(a, b, c, d, e, f);
      this.shape(shape);
      context.restore();
    }
    context.restore();
  }

  shape(shape) {
    const { context } = this;
    const css = getComputedStyle(shape);
    const number = (name) => Number(shape.getAttribute(name) ?? 0);
    context.fillStyle = css.fill === "none" ? "transparent" : css.fill;
    context.strokeStyle = css.stroke === "none" ? "transparent" : css.stroke;
    context.lineWidth = Number.parseFloat(css.strokeWidth) || 1;
    if (shape.localName === "rect") context.fillRect(number("x"), number("y"), number("width"), number("height"));
    if (shape.localName === "path") {
      const path = new Path2D(shape.getAttribute("d"));
      context.fill(path);
      context.stroke(path);
    }
    if (shape.localName === "text") {
      context.font = css.font;
      context.textAlign = css.textAnchor === "middle" ? "center" : "left";
      context.fillText(shape.textContent, number("x"), number("y"));
    }
  }
}
