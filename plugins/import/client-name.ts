/** Makes a client name of a text, such as `edge` or `203.0.113.7`. */
export function toClientName(text: string): string {
  const name = text
    .replaceAll(/[^\w.-]+/g, '-')
    .replace(/^[-.]+/, '')
    .slice(0, 200)
  if (name === '') return 'import'
  return /^(all|me|_.*)$/i.test(name) ? `import-${name}` : name
}

/** Gives each host of a source a client name that no other one has. */
export class ClientNames {
  readonly #taken = new Set<string>()

  /** Returns the wanted name, or the first free one of `edge-2`, `edge-3`, and so on. */
  take(wanted: string): string {
    const name = toClientName(wanted)
    for (let number = 1; ; number += 1) {
      const free = number === 1 ? name : `${name}-${number}`
      if (this.#taken.has(free)) continue
      this.#taken.add(free)
      return free
    }
  }
}
