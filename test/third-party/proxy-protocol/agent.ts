// The agent half: headers are read and written by the engine.
import { type AgentPlugin, defineField, type Preamble, type PreamblePart } from 'sluice/agent-plugin'
import { capability, keys, Outgoing, Senders } from './wire.ts'

const families = { ipv4: 1, ipv6: 2 } as const
const transports = { tcp: 1, udp: 2 } as const
const versionAndCommand = 0x21
const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')

/** A header of version 2 with addresses, ports and, where TLS has asked for one, the server name. */
function header(family: 1 | 2, transport: 1 | 2): PreamblePart[] {
  const authority: PreamblePart[] = [
    { bytes: Buffer.of(2) },
    { length: 2, of: [{ field: 'server_name', form: 'text' }] }
  ]
  return [
    { bytes: Buffer.concat([signature, Buffer.of(versionAndCommand, (family << 4) | transport)]) },
    {
      length: 2,
      of: [
        { field: 'source_address', form: 'binary' },
        { field: 'listen_address', form: 'binary' },
        { field: 'source_port', form: 'binary' },
        { field: 'listen_port', form: 'binary' },
        { whenNamed: authority }
      ]
    }
  ]
}

const preambleOf = (protocol: 'tcp' | 'udp'): Preamble => ({
  ipv4: header(families.ipv4, transports[protocol]),
  ipv6: header(families.ipv6, transports[protocol]),
  datagrams: 'first'
})

export default {
  name: 'proxy-protocol',
  agent: '^1.2.0',
  capabilities: { [capability.id]: capability.since },
  messages: [Senders, Outgoing],
  fields: [
    defineField({
      key: keys.in,
      message: Senders,
      plan({ from }, draft) {
        const refusals = { header: 'proxy_header', untrusted: 'proxy_untrusted' }
        draft.firstRead = { form: 'proxy_protocol', from, refusals }
      }
    }),
    defineField({
      key: keys.out,
      message: Outgoing,
      plan(_value, draft, rule) {
        draft.preamble = preambleOf(rule.protocol)
      }
    })
  ]
} satisfies AgentPlugin
