import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'

const systemFile = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'

/**
 * Returns a lookup in the hosts file, by lower-case name: the addresses, or null without an entry. It reads the file again
 * after a change. `localhost` needs no entry.
 */
export function openHosts(file = systemFile): (name: string) => readonly string[] | null {
  let names: ReadonlyMap<string, readonly string[]> = new Map()
  let version = '' // mtime and size of the file when it was last read

  const refresh = () => {
    try {
      const { mtimeMs, size } = statSync(file)
      const current = `${mtimeMs} ${size}`
      if (version === current) return
      names = parse(readFileSync(file, 'utf8'))
      version = current
    } catch {
      names = new Map() // absent or unreadable: no entries, as in the C library
      version = ''
    }
  }

  return name => {
    refresh()
    return names.get(name) ?? (isLocalhost(name) ? ['127.0.0.1', '::1'] : null)
  }
}

const isLocalhost = (name: string): boolean => name === 'localhost' || name.endsWith('.localhost')

function parse(text: string): Map<string, string[]> {
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
