import { isIP } from 'node:net'
import { openParsedFile } from './parsed-file.ts'

const systemFile = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'

/**
 * Returns a lookup in the hosts file, by lower-case name without a trailing dot: the addresses, or null without an entry.
 * `localhost` needs no entry.
 */
export function openHosts(file = systemFile): (name: string) => readonly string[] | null {
  const names = openParsedFile(file, parse)
  return name => names().get(name) ?? (isLocalhost(name) ? ['127.0.0.1', '::1'] : null)
}

const isLocalhost = (name: string): boolean => name === 'localhost' || name.endsWith('.localhost')

function parse(text: string): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...aliases] = line.replace(/#.*/, '').trim().split(/\s+/)
    if (isIP(address) === 0 || address.includes('%')) continue
    for (const name of aliases) {
      const addresses = names.get(name.toLowerCase()) ?? []
      if (!addresses.includes(address)) names.set(name.toLowerCase(), [...addresses, address])
    }
  }
  return names
}
