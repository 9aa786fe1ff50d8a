import type { Capability } from '../../kernel/wire/message.ts'

/** Every agent release that can still connect has it. */
export const capability: Capability = { id: 'rule.range', since: '0.1.0' }
