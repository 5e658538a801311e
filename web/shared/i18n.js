/** Texts and formats of the reader's language. The English text is the key; a catalogue translates it. */
import { computed, signal } from "../vendor/preact.js";

const LOCALES = ["en", "de"];
/** @type {Record<string, string>} */
let catalogue = {};

/** @type {import("../vendor/preact.js").Signal<string>} the language in use */
export const locale = signal("en");

/** The language with the reader's region, if the browser knows it: British and American times differ. */
export const region = computed(() => navigator.languages.find((each) => each.startsWith(locale.value)) ?? locale.value);

/**
 * Use a language; its catalogue is loaded once. Unknown languages mean English.
 * @param {string} wanted @param {Record<string, Record<string, string>>} [own] words of the application, by language
 */
export async function useLocale(wanted, own = {}) {
  const found = LOCALES.includes(wanted.slice(0, 2)) ? wanted.slice(0, 2) : "en";
  const texts = found === "en" ? {} : (await import(`./i18n/${found}.js`)).default;
  catalogue = { ...texts, ...own[found] };
  document.documentElement.lang = found;
  locale.value = found;
}

/** Translate a text; `{name}` stands for a value. @param {string} text @param {Record<string, unknown>} [values] @returns {string} */
export function t(text, values) {
  void locale.value; // so that texts are drawn again in another language
  const found = catalogue[text] ?? text;
  return values ? found.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole)) : found;
}

/** Translate a text that counts; `{n}` is the number. @param {string} one @param {string} other @param {number} n */
export function tn(one, other, n, values = {}) {
  const singular = formatter(Intl.PluralRules).select(n) === "one";
  return t(singular ? one : other, { n: number(n), ...values });
}

/** @type {Map<string, any>} */
const formatters = new Map();

/** Return a formatter for the reader's region. It is created once, because that costs as much as a row of a list.
 * @template F @param {new (locale: string, options?: any) => F} Kind such as `Intl.NumberFormat` @param {object} [options] @returns {F}
 */
export function formatter(Kind, options) {
  const key = `${Kind.name} ${region.value} ${options ? JSON.stringify(options) : ""}`;
  const found = formatters.get(key) ?? new Kind(region.value, options);
  formatters.set(key, found);
  return found;
}

/** @param {number | null | undefined} value @param {Intl.NumberFormatOptions} [options] */
export function number(value, options) {
  return value === null || value === undefined ? "–" : formatter(Intl.NumberFormat, options).format(value);
}

/** Return the language that the reader chose, or the browser's. */
export function preferred() {
  return localStorage.getItem("angarium.locale") ?? navigator.language;
}
