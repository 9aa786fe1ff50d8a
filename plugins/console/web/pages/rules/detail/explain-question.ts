import type { Rule } from '../queries.ts'

/** Returns an explain request for the first port of the rule, on its first client. */
export function explainQuestion({ client_id, edges, listen_port, protocol, sni_pattern }: Rule) {
  return {
    client: client_id ?? edges?.[0]?.client_id ?? '',
    port: listen_port,
    protocol: protocol === 'udp' ? ('udp' as const) : ('tcp' as const),
    ...(sni_pattern && !sni_pattern.startsWith('*') && { sni: sni_pattern })
  }
}
