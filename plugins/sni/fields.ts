// The rule fields sni_pattern and sni_fallback, which distinguish rules on one port.
import { Type } from '../../agent/wire/field-schema.ts'
import type { DeclaredField } from '../../agent/wire/rule-field.ts'

const capability = { id: 'rule.sni', since: '0.9.0' }

export const sniPattern = {
  key: 'sni_pattern',
  capability,
  body: Type.String({
    maxLength: 255,
    code: 'validation.sni_pattern_malformed',
    description: "A TLS server name, or '*.' and a domain, which matches names with one more label.",
    examples: ['shop.example.org']
  }),
  option: 'sni'
} satisfies DeclaredField

export const sniFallback = {
  key: 'sni_fallback',
  capability,
  body: Type.Boolean({
    description: 'Takes connections without TLS or a matching name on its port, and silent ones after 3 s.'
  })
} satisfies DeclaredField

export const fields: readonly DeclaredField[] = [sniPattern, sniFallback]
