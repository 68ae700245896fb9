/* Colours: of categories, of numbers, and of text and lines on a ground. */

/* More categories than colours take the colours again, with another shape. */
const categoryColor = (i) => data.palette[i % data.palette.length];
const shapes = ["circle", "square", "diamond", "triangle-up"];
const categoryShape = (i) => shapes[Math.floor(i / data.palette.length) % shapes.length];
const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const hexOf = (parts) => `#${parts.map((v) => Math.round(v).toString(16).padStart(2, "0")).join("")}`;
/* The colour of a number, from its place between the lowest, 0, and the highest, 1. */
function mixed(place) {
  const scale = data.colorscale, last = scale.length - 1, at = Math.min(last - 1, Math.floor(place * last)), part = place * last - at;
  const [a, b] = [channels(scale[at][1]), channels(scale[at + 1][1])];
  return hexOf(a.map((v, k) => v + part * (b[k] - v)));
}
/* Black or white, whichever differs more from a colour. */
function inkOn(color) {
  const [r, g, b] = channels(color).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) ? "#000" : "#fff";
}
const darkGround = () => !printing && matchMedia("(prefers-color-scheme: dark)").matches;
/* A colour of a thin line, lighter on a dark ground. */
const onGround = (color) => (darkGround() && /^#[0-9a-f]{6}$/i.test(color) ? hexOf(channels(color).map((v) => 0.75 * v + 0.25 * 255)) : color);
