import ipaddr from 'ipaddr.js'

/** Returns the addresses of `10.0.0.1-10.0.0.5`, at most `most`, or none if there are more. Other text is returned as it is. */
export function addressRange(text: string, most = 64): string[] {
  const [first = '', last, more] = text.split('-')
  if (last === undefined || more !== undefined || !ipaddr.isValid(first) || !ipaddr.isValid(last))
    return [text]
  const addresses: string[] = []
  const bytes = ipaddr.parse(first).toByteArray()
  const end = ipaddr.parse(last)
  if (end.toByteArray().length !== bytes.length) return [text]
  while (addresses.length < most) {
    const address = ipaddr.fromByteArray(bytes).toString()
    addresses.push(address)
    if (address === end.toString()) return addresses
    increment(bytes)
  }
  return []
}

function increment(bytes: number[]): void {
  for (let at = bytes.length - 1; at >= 0; at -= 1) {
    bytes[at] = ((bytes[at] ?? 0) + 1) % 256
    if (bytes[at] !== 0) return
  }
}
