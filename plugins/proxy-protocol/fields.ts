// The rule fields proxy_in, proxy_out and proxy_out_udp.

import { Type } from '../../agent/wire/field-schema.ts'
import type { DeclaredField } from '../../agent/wire/rule-field.ts'
import { defineCode } from '../../kernel/base/errors.ts'

const capability = { id: 'rule.proxy', since: '2.1.0' }

/** Statistics count refused callers of a rule with `proxy_in` under these reasons. */
export const refusals = { header: 'proxy_header', untrusted: 'proxy_untrusted' } as const

export const invalidIn = defineCode('validation.proxy_in', 400, 3)
export const invalidOut = defineCode('validation.proxy_out', 400, 3)

export const proxyIn = {
  key: 'proxy_in',
  capability,
  body: Type.Array(Type.String({ maxLength: 64 }), {
    minItems: 1,
    maxItems: 64,
    code: invalidIn.code,
    description:
      'Addresses and prefixes of the proxies in front. They must send a PROXY protocol header; others are refused.',
    examples: [['192.0.2.0/24']]
  })
} satisfies DeclaredField

export const proxyOut = {
  key: 'proxy_out',
  capability,
  body: Type.Integer({
    minimum: 1,
    maximum: 2,
    code: invalidOut.code,
    description: 'Version of the PROXY protocol header that targets get before the first byte: 1 or 2.',
    examples: [2]
  })
} satisfies DeclaredField

export const proxyOutUdp = {
  key: 'proxy_out_udp',
  capability,
  body: Type.Union([Type.Literal('first'), Type.Literal('each')], {
    code: invalidOut.code,
    description: 'For UDP rules with proxy_out: send the header in the first datagram of a flow, or in each.',
    examples: ['first']
  })
} satisfies DeclaredField

export const fields: readonly DeclaredField[] = [proxyIn, proxyOut, proxyOutUdp]
