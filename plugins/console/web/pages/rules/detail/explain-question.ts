import type { Rule } from '../queries.ts'

/** Returns the question after a caller of the rule's first port; of a rule on several edges, of its first one. */
export function questionOf({ client_id, edges, listen_port, protocol, sni_pattern }: Rule) {
  return {
    client: client_id ?? edges?.[0]?.client_id ?? '',
    port: listen_port,
    protocol: protocol === 'udp' ? ('udp' as const) : ('tcp' as const),
    ...(sni_pattern && !sni_pattern.startsWith('*') && { sni: sni_pattern })
  }
}
