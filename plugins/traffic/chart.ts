const maxColumns = 32
const eighths = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** Returns a bar of at most 32 columns, in steps of an eighth of a column. */
export function bar(value: number, max: number): string {
  const steps = max === 0 ? 0 : Math.ceil((value / max) * maxColumns * 8)
  return '█'.repeat(Math.floor(steps / 8)) + (steps % 8 === 0 ? '' : eighths[steps % 8])
}
