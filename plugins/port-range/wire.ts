import type { Capability } from '../../kernel/wire/message.ts'

/** No release that still speaks this stream is too old for it. */
export const capability: Capability = { id: 'rule.range', since: '0.1.0' }
