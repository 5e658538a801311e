/** The looks of the portal: the host page's, else the address's, else the workspace's branding, else the defaults. */

/** @typedef {{theme?: string, primary?: string, radius?: string, density?: string, locale?: string}} Look */
/** @typedef {{colors?: {primary?: string | null, background?: string | null, text?: string | null}, locale?: string | null}} Branding */

const LEAST = 4.5; // WCAG 2.2 AA, of text
/** The background with the least contrast to coloured text, for each scheme: a tinted row. In linear luminance. */
const HARDEST = { light: 0.86, dark: 0.036 };

/** @param {string} text `#rgb` or `#rrggbb` @returns {number[] | null} red, green, blue: 0 to 1 */
export function parsed(text) {
  const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(text.trim())?.[1];
  if (!hex) return null;
  const six = hex.length === 3 ? [...hex].map((each) => each + each).join("") : hex;
  return [0, 2, 4].map((at) => Number.parseInt(six.slice(at, at + 2), 16) / 255);
}

const linear = (/** @type {number} */ c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const curved = (/** @type {number} */ c) => (c <= 0.0031308 ? c * 12.92 : 1.055 * c ** (1 / 2.4) - 0.055);

/** Return the luminance of a colour (WCAG). @param {number[]} rgb */
export const luminance = (rgb) => rgb.map(linear).reduce((sum, each, i) => sum + each * [0.2126, 0.7152, 0.0722][i], 0);

/** @param {number} one @param {number} two luminances */
export const contrast = (one, two) => (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);

/** Mix a colour with white or black until its contrast with a background suffices. The hue stays, the lightness changes.
 * @param {number[]} rgb @param {number} ground luminance @param {number} [least] */
export function readable(rgb, ground, least = LEAST) {
  const end = ground > 0.18 ? 0 : 1;
  for (let share = 0; share < 1; share += 0.02) {
    const mixed = rgb.map((each) => curved(linear(each) * (1 - share) + end * share));
    if (contrast(luminance(mixed), ground) >= least) return mixed;
  }
  return [end, end, end];
}

const css = (/** @type {number[]} */ rgb) => `rgb(${rgb.map((each) => Math.round(each * 255)).join(" ")})`;

/** Return the values of the design system that a brand's colours replace. @param {NonNullable<Branding["colors"]>} colors */
export function values({ primary, background, text }) {
  /** @type {Record<string, string>} */
  const found = {};
  const rgb = primary ? parsed(primary) : null;
  if (rgb) {
    const [light, dark] = [readable(rgb, HARDEST.light), readable(rgb, HARDEST.dark)];
    found["--accent"] = `light-dark(${css(light)}, ${css(dark)})`;
    found["--accent-strong"] =
      `light-dark(${css(light.map((c) => c * 0.85))}, ${css(dark.map((c) => 1 - (1 - c) * 0.8))})`;
    found["--accent-soft"] =
      `light-dark(${css(light.map((c) => 1 - (1 - c) * 0.08))}, ${css(dark.map((c) => c * 0.22))})`;
    found["--on-accent"] = "light-dark(#fff, #0b0c10)";
  }
  const ground = background ? parsed(background) : null;
  const words = text ? parsed(text) : null;
  const light = !ground || luminance(ground) > 0.18;
  if (ground && (luminance(ground) > 0.8 || luminance(ground) < 0.03))
    found["--ground"] = light
      ? `light-dark(${css(ground)}, oklch(0.175 0.009 268))`
      : `light-dark(oklch(0.975 0.003 268), ${css(ground)})`;
  if (words) {
    const shown = css(readable(words, light ? HARDEST.light : HARDEST.dark, 7));
    found["--text"] = light
      ? `light-dark(${shown}, oklch(0.925 0.006 268))`
      : `light-dark(oklch(0.245 0.016 268), ${shown})`;
  }
  return found;
}

const THEMED = ["--accent", "--accent-strong", "--accent-soft", "--on-accent", "--ground", "--text", "--radius"];

/** Show the looks of the highest precedence. @param {Look} host @param {Look} address @param {Branding | null} branding @returns {string | null} the language */
export function show(host, address, branding) {
  const look = { ...address, ...host };
  const root = document.documentElement;
  root.dataset.theme = ["light", "dark"].includes(look.theme ?? "") ? look.theme : "";
  root.dataset.density = look.density === "compact" ? "compact" : "";
  const given = look.primary && parsed(look.primary) ? { primary: look.primary } : {};
  const found = values({ ...branding?.colors, ...given });
  const radius = Number.parseInt(look.radius ?? "", 10);
  if (radius >= 0 && radius <= 16) found["--radius"] = `${radius}px`;
  for (const name of THEMED) {
    if (found[name]) root.style.setProperty(name, found[name]);
    else root.style.removeProperty(name);
  }
  return look.locale ?? branding?.locale ?? null;
}
