// The server half: checks the field, which can change while the rule runs.
import { isIP } from 'node:net'
import { defineCode, definePlugin, Fault, rules } from 'sluice/plugin'
import { field } from './field.ts'

const invalid = defineCode('validation.tarpit', 400, 3)
const missing = defineCode('validation.tarpit_missing', 400, 3)

const refusal = (at: string, why: string, reason: string): Fault =>
  new Fault(invalid, `/${field.key}${at} ${why}`, { details: { field: `/${field.key}${at}`, reason } })

function isPrefix(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const family = isIP(address)
  if (family === 0 || address.includes('%') || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

const tarpit = rules.ruleField({
  ...field,
  change: 'hot',
  updateEmpty: missing,
  parse({ sources, max }, { protocol, listenFrom, listenTo }) {
    if (protocol !== 'tcp' || listenFrom !== listenTo) throw refusal('', 'is for one TCP port', 'protocol')
    const wrong = sources.findIndex(source => !isPrefix(source))
    if (wrong >= 0)
      throw refusal(
        `/sources/${wrong}`,
        `must be a prefix like 192.0.2.0/24, got ${sources[wrong]}`,
        'prefix'
      )
    return sources.length === 0 ? null : { sources: [...new Set(sources)], max }
  }
})

export default definePlugin({
  name: 'tarpit',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [invalid, missing],
  fills: [tarpit, rules.pushOptions(field)]
})
