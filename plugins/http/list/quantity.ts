// Numbers of bytes and bits per second, with units.

/** The units of sizes and of rates. */
export type Unit = 'B' | 'bit/s'

/** Returns the unit of a property, by its name: 'bytes_in', 'monthly_bytes', 'rate_limit.bandwidth_in_bps'. */
export function unitOf(name: string): Unit | null {
  if (/_bps$|^bps_/.test(name)) return 'bit/s'
  return /(^|[_.])bytes(_|$)/.test(name) ? 'B' : null
}

const prefixes = ['', 'k', 'M', 'G', 'T', 'P'] as const

/** Formats a number with a decimal prefix, like link rates and quotas: '1.5 MB', '50 Mbit/s'. */
export function formatQuantity(value: number, unit: Unit): string {
  const power = value === 0 ? 0 : Math.min(prefixes.length - 1, Math.floor(Math.log10(value) / 3))
  const scaled = value / 1000 ** power
  return `${power === 0 ? scaled : scaled.toFixed(scaled < 10 ? 1 : 0)} ${prefixes[power]}${unit}`
}

/** Formats a number without rounding: '123.456789 MB'. `parseQuantity` reads it. */
export function exactQuantity(value: number, unit: Unit): string {
  const power = value === 0 ? 0 : Math.min(4, Math.floor(Math.log10(value) / 3))
  const short = `${value / 1000 ** power} ${prefixes[power]}${unit}`
  return parseQuantity(short, unit) === value ? short : `${value} ${unit}`
}

/** Formats bytes: '1.5 MB'. */
export const formatSize = (bytes: number): string => formatQuantity(bytes, 'B')

/** Formats bits per second: '50 Mbit/s'. */
export const formatRate = (bps: number): string => formatQuantity(bps, 'bit/s')

const factors: Readonly<Record<string, bigint>> = {
  '': 1n,
  k: 1000n,
  K: 1000n,
  M: 1000n ** 2n,
  G: 1000n ** 3n,
  T: 1000n ** 4n,
  Ki: 1024n,
  Mi: 1024n ** 2n,
  Gi: 1024n ** 3n,
  Ti: 1024n ** 4n
}

const endings: Readonly<Record<Unit, readonly string[]>> = { B: ['B'], 'bit/s': ['bit/s', 'bps'] }

/** Help text for arguments with a unit. */
export const quantityHelp = (unit: Unit): string =>
  `500M, '500 M${unit}', 1.5G (powers of 1000), 2Gi (powers of 1024)`

/**
 * Parses a whole number with a prefix, a unit or both: '500M', '1.5 GB', '2GiB'. Returns null for other text, for another
 * unit, and for fractions of one.
 */
export function parseQuantity(text: string, unit: Unit): number | null {
  const [, whole = '', fraction = '', prefix = '', ending = ''] =
    /^(\d{1,16})(?:\.(\d{1,9}))? ?([KMGT]i|[kKMGT])?([a-zA-Z/]*)$/.exec(text) ?? []
  const factor = factors[prefix]
  const isPlain = prefix === '' && ending === ''
  if (whole === '' || factor === undefined || isPlain) return null
  if (ending !== '' && !endings[unit].includes(ending)) return null
  const scale = 10n ** BigInt(fraction.length)
  const scaled = BigInt(whole + fraction) * factor
  return scaled % scale === 0n && scaled / scale <= BigInt(Number.MAX_SAFE_INTEGER)
    ? Number(scaled / scale)
    : null
}
