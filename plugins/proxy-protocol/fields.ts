// The rule fields proxy_in, proxy_out and proxy_out_udp. A change of one counts for new connections.
import type { EntityManager } from '@mikro-orm/sql'
import { Type } from 'typebox'
import { defineCode, type ErrorCode, Fault } from '../../kernel/base/errors.ts'
import { fieldUnsupported, normalizePrefix, ruleField } from '../rules/exports.ts'
import { ProxyProtocol } from './entities.ts'
import { capability, EachDatagram, Header, keys, maxSenders, Senders } from './wire.ts'

export const invalidOut = defineCode('validation.proxy_out', 400, 3)
export const invalidIn = defineCode('validation.proxy_in', 400, 3)

const requires = { capability, refusal: fieldUnsupported }

const refusal = (code: ErrorCode, field: string, reason: string, why: string): Fault =>
  new Fault(code, `${field} ${why}`, { details: { field, reason } })

/** Stores the field in its column. `V` is its value there. */
function column<V>(name: 'senders' | 'version' | 'datagrams') {
  const set = async (rule: string, value: V | null, em: EntityManager) => {
    await em.upsert(ProxyProtocol, { rule, [name]: value } as never)
  }
  return {
    check: async () => {},
    save: set,
    clear: (rule: string, em: EntityManager) => set(rule, null, em),
    async load(ids: readonly string[], em: EntityManager): Promise<ReadonlyMap<string, V>> {
      const rows = await em.find(ProxyProtocol, { rule: { $in: [...ids] } })
      return new Map(rows.flatMap(row => (row[name] == null ? [] : [[row.rule, row[name] as V] as const])))
    }
  }
}

const proxyIn = ruleField({
  key: keys.in,
  change: 'frozen',
  body: Type.Unsafe<readonly string[]>(
    Type.Array(Type.String({ maxLength: 64 }), {
      minItems: 1,
      maxItems: maxSenders,
      code: invalidIn.code,
      description:
        'Addresses and prefixes of the proxies in front: they write a PROXY protocol header, others are refused.',
      examples: [['192.0.2.0/24']]
    })
  ),
  requires,
  message: Senders,
  errors: [invalidIn],
  parse(given) {
    const prefixes = given.map((text, at) => {
      const prefix = normalizePrefix(text)
      if (prefix !== null) return prefix
      const why = `${text} is neither an address nor a prefix such as 192.0.2.0/24`
      throw refusal(invalidIn, `/${keys.in}/${at}`, 'prefix', why)
    })
    return [...new Set(prefixes)].sort() // rules that share a port need an equal list
  },
  ...column<readonly string[]>('senders'),
  encode: from => ({ from: [...from] })
})

const proxyOut = ruleField({
  key: keys.out,
  change: 'frozen',
  body: Type.Unsafe<1 | 2>(
    Type.Integer({
      minimum: 1,
      maximum: 2,
      code: invalidOut.code,
      description: 'Version of the PROXY protocol header that targets get before the first byte.',
      examples: [2]
    })
  ),
  requires,
  message: Header,
  errors: [invalidOut],
  parse(version, { protocol }) {
    if (version === 1 && protocol === 'udp')
      throw refusal(invalidOut, `/${keys.out}`, 'protocol', '1 is for TCP rules; give 2, which has datagrams')
    return version
  },
  ...column<1 | 2>('version'),
  encode: version => ({ version })
})

const proxyOutUdp = ruleField({
  key: keys.outUdp,
  change: 'frozen',
  body: Type.Unsafe<'first' | 'each'>(
    Type.Union([Type.Literal('first'), Type.Literal('each')], {
      code: invalidOut.code,
      description: 'Of a UDP rule with proxy_out: the first datagram of a flow has the header, or each.',
      examples: ['first']
    })
  ),
  absent: 'first',
  requires,
  message: EachDatagram,
  errors: [invalidOut],
  parse(datagrams, { protocol }, { [keys.out]: version = null }) {
    if (datagrams === 'first') return null
    if (protocol === 'udp' && version !== null) return datagrams
    throw refusal(
      invalidOut,
      `/${keys.outUdp}`,
      'proxy_out',
      `each is for UDP rules with ${keys.out} 2; leave it out or give null elsewhere`
    )
  },
  ...column<'first' | 'each'>('datagrams'),
  encode: () => ({})
})

export const fields = [proxyIn, proxyOut, proxyOutUdp]
