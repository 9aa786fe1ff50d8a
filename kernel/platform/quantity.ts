const factors: Readonly<Record<string, bigint>> = {
  k: 1000n,
  M: 1000n ** 2n,
  G: 1000n ** 3n,
  T: 1000n ** 4n,
  Ki: 1024n,
  Mi: 1024n ** 2n,
  Gi: 1024n ** 3n,
  Ti: 1024n ** 4n
}

/** Help text for arguments with a unit. */
export const quantityHelp = '500M, 1.5G (powers of 1000), 2Gi (powers of 1024)'

/** Parses a whole number with a unit: '500M', '1.5G', '2Gi'. Returns null for other text and for fractions of one. */
export function parseQuantity(text: string): number | null {
  const [, whole = '', fraction = '', unit = ''] =
    /^(\d{1,16})(?:\.(\d{1,9}))?([kMGT]|[KMGT]i)$/.exec(text) ?? []
  const factor = factors[unit]
  if (factor === undefined) return null
  const scale = 10n ** BigInt(fraction.length)
  const scaled = BigInt(whole + fraction) * factor
  return scaled % scale === 0n && scaled / scale <= BigInt(Number.MAX_SAFE_INTEGER)
    ? Number(scaled / scale)
    : null
}
