/** The difference of two texts by lines, with their longest common subsequence. */

const LONGEST = 2000; // lines of each text: the size of the table of lengths is their product

/** @typedef {["same" | "added" | "removed", string]} Line */

/** @param {string} before @param {string} after @returns {Line[]} */
export function difference(before, after) {
  const one = before.split("\n").slice(0, LONGEST);
  const two = after.split("\n").slice(0, LONGEST);
  const wide = two.length + 1;
  const lengths = new Uint16Array((one.length + 1) * wide);
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = two.length - 1; j >= 0; j--) {
      lengths[i * wide + j] =
        one[i] === two[j]
          ? lengths[(i + 1) * wide + j + 1] + 1
          : Math.max(lengths[(i + 1) * wide + j], lengths[i * wide + j + 1]);
    }
  }
  /** @type {Line[]} */
  const lines = [];
  let i = 0;
  let j = 0;
  while (i < one.length && j < two.length) {
    if (one[i] === two[j]) {
      lines.push(["same", one[i]]);
      i++;
      j++;
    } else if (lengths[(i + 1) * wide + j] >= lengths[i * wide + j + 1]) lines.push(["removed", one[i++]]);
    else lines.push(["added", two[j++]]);
  }
  while (i < one.length) lines.push(["removed", one[i++]]);
  while (j < two.length) lines.push(["added", two[j++]]);
  return lines;
}
