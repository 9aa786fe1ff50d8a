// Which addresses have said of late that nobody is there.
const believedMs = 10_000

export interface Refusals {
  note(address: string, port: number): void
  /** The same addresses: those that refused come last. */
  last(addresses: readonly string[], port: number): readonly string[]
}

export function openRefusals(now = () => performance.now()): Refusals {
  const notedAt = new Map<string, number>() // oldest first
  const keyOf = (address: string, port: number) => `${address} ${port}`

  const forgetOld = () => {
    for (const [key, at] of notedAt) {
      if (now() - at < believedMs) return
      notedAt.delete(key)
    }
  }
  return {
    note(address, port) {
      forgetOld()
      notedAt.delete(keyOf(address, port))
      notedAt.set(keyOf(address, port), now())
    },
    last(addresses, port) {
      forgetOld()
      const hasRefused = (address: string) => notedAt.has(keyOf(address, port))
      return [...addresses.filter(address => !hasRefused(address)), ...addresses.filter(hasRefused)]
    }
  }
}
