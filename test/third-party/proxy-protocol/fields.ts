// The rule fields `proxy_protocol_in` and `proxy_protocol_out`. A change of either replaces the rule.
import { isIP } from 'node:net'
import { defineCode, Fault, rules, Type } from 'sluice/plugin'
import { OutgoingRow, SendersRow } from './entities.ts'
import { capability, keys, maxSenders, Outgoing, Senders } from './wire.ts'

export const notAPrefix = defineCode('validation.proxy_protocol_in', 400, 3)

const requires = { capability, refusal: rules.fieldUnsupported }

function isPrefix(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const full = isIP(address) === 4 ? 32 : 128
  const isLength = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= full)
  return isIP(address) !== 0 && !address.includes('%') && isLength && more.length === 0
}

export const incoming = rules.ruleField({
  key: keys.in,
  change: 'frozen',
  body: Type.Array(Type.String({ maxLength: 64 }), {
    maxItems: maxSenders,
    description: 'Addresses and prefixes of the proxies in front, which write a PROXY protocol header.',
    examples: [['192.0.2.0/24']]
  }),
  requires,
  message: Senders,
  parse(from) {
    for (const [i, text] of from.entries())
      if (!isPrefix(text)) {
        const field = `/${keys.in}/${i}`
        const why = `${field} ${text} is neither an address nor a prefix like 192.0.2.0/24`
        throw new Fault(notAPrefix, why, { details: { field, reason: 'prefix' } })
      }
    return from.length > 0 ? [...new Set(from)].sort() : null
  },
  async check() {},
  async save(rule, from, em) {
    await em.insert(SendersRow, { rule, from })
  },
  async load(ids, em) {
    const rows = await em.find(SendersRow, { rule: { $in: [...ids] } }, { disableIdentityMap: true })
    return new Map(rows.map(({ rule, from }) => [rule, [...from]]))
  },
  encode: from => ({ from: [...from] })
})

export const outgoing = rules.ruleField({
  key: keys.out,
  change: 'frozen',
  body: Type.Literal(2, { description: 'Version of the PROXY protocol header that targets get.' }),
  requires,
  message: Outgoing,
  parse: version => version,
  async check() {},
  async save(rule, _version, em) {
    await em.insert(OutgoingRow, { rule })
  },
  async load(ids, em) {
    const rows = await em.find(OutgoingRow, { rule: { $in: [...ids] } }, { disableIdentityMap: true })
    return new Map(rows.map(({ rule }) => [rule, 2 as const]))
  },
  encode: version => ({ version })
})
