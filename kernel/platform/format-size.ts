const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const

/** Formats bytes in decimal units, like link rates and quotas: '1.5 MB'. */
export function formatSize(bytes: number): string {
  const power = bytes === 0 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  const value = bytes / 1000 ** power
  return `${power === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[power]}`
}
