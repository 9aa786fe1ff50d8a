// Widths of texts in terminal columns.

// East Asian wide and full-width forms and emoji take two columns each.
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1faff}\u{20000}-\u{3fffd}]/u
let segmenter: Intl.Segmenter | undefined // slow to create, and few texts need it

const charWidth = (char: string): number =>
  wide.test(char) || /\ufe0f/.test(char) ? 2 : /^\p{M}/u.test(char) ? 0 : 1

function chars(text: string): string[] {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  return [...segmenter.segment(text)].map(({ segment }) => segment)
}

export const widthOf = (text: string): number =>
  /^[\x20-\x7e]*$/.test(text) ? text.length : chars(text).reduce((sum, char) => sum + charWidth(char), 0)

export const pad = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - widthOf(text)))

/** Cuts the text to `width` columns, with an ellipsis at the end. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let left = width - 1
  let head = ''
  for (const char of chars(text)) {
    left -= charWidth(char)
    if (left < 0) break
    head += char
  }
  return `${head}…`
}

const minWidth = 12
const gap = 2

export interface ColumnSize {
  readonly width: number // of the widest cell
  readonly isRigid: boolean // its cells must not be cut
}

/**
 * Returns the widths of the columns that fit into `limit`. Narrows the widest texts first, to no less than 12 columns; if
 * that is not enough, omits columns from the right, but never the first.
 */
export function fit(columns: readonly ColumnSize[], limit: number): number[] {
  for (let count = columns.length; count > 1; count--) {
    const widths = narrowed(columns.slice(0, count), limit)
    if (sum(widths) <= limit) return widths
  }
  return narrowed(columns.slice(0, 1), limit)
}

function narrowed(columns: readonly ColumnSize[], limit: number): number[] {
  const widths = columns.map(({ width }) => width)
  while (sum(widths) > limit) {
    const open = columns.map(({ isRigid }, at) =>
      isRigid || (widths[at] ?? 0) <= minWidth ? 0 : (widths[at] ?? 0)
    )
    const widest = Math.max(...open)
    if (widest === 0) break
    widths[open.indexOf(widest)] = widest - 1
  }
  return widths
}

const sum = (widths: readonly number[]): number =>
  widths.reduce((total, width) => total + width, gap * (widths.length - 1))
