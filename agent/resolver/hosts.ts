import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'

const systemFile = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'

/** Addresses of a name that the machine's own file gives, as the file is now; `localhost` needs no file. */
export function openHosts(file = systemFile): (name: string) => readonly string[] | null {
  let names: ReadonlyMap<string, readonly string[]> = new Map()
  let seen = ''

  const refresh = () => {
    try {
      const { mtimeMs, size } = statSync(file)
      if (seen === `${mtimeMs} ${size}`) return
      names = parse(readFileSync(file, 'utf8'))
      seen = `${mtimeMs} ${size}`
    } catch {
      names = new Map() // absent or unreadable: it says nothing, as for the C library
      seen = ''
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
    const [address = '', ...called] = line.replace(/#.*/, '').trim().split(/\s+/)
    if (isIP(address) === 0 || address.includes('%')) continue
    for (const name of called) {
      const addresses = names.get(name.toLowerCase()) ?? []
      if (!addresses.includes(address)) names.set(name.toLowerCase(), [...addresses, address])
    }
  }
  return names
}
