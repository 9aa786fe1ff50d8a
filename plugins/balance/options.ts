// The rule fields beside `balance`: when a target is slow, how slowly it returns, and which IPv6 callers are one.
import type { EntityManager } from '@mikro-orm/sql'
import { Type } from 'typebox'
import { Fault } from '../../kernel/base/errors.ts'
import type { Message } from '../../kernel/wire/message.ts'
import { fieldUnsupported, ruleField } from '../rules/exports.ts'
import { BalanceOptions } from './entities.ts'
import { invalidBalance } from './field.ts'
import {
  defaults,
  ejectionCapability,
  key,
  optionKeys,
  SlowConnect,
  SlowStart,
  SourcePrefix
} from './wire.ts'

type Column = keyof typeof optionKeys

interface Option {
  readonly column: Column
  readonly minimum: number
  readonly maximum: number
  readonly description: string
  readonly example: number
  readonly message: Message
  readonly encode: (value: number) => object
  /** The value of `balance` that it needs; null: any but the order of priorities. */
  readonly of: string | null
}

function optionField({ column, minimum, maximum, description, example, message, encode, of }: Option) {
  const option = optionKeys[column]
  const set = async (rule: string, value: number | null, em: EntityManager) => {
    await em.upsert(BalanceOptions, { rule, [column]: value } as never)
  }
  return ruleField({
    key: option,
    change: 'frozen',
    body: Type.Unsafe<number>(Type.Integer({ minimum, maximum, description, examples: [example] })),
    requires: { capability: ejectionCapability, refusal: fieldUnsupported },
    message,
    errors: [invalidBalance],
    parse(value, _, { [key]: balance = null }) {
      if (of === null ? balance !== null && balance !== 'priority' : balance === of) return value
      const remedy = of === null ? `a ${key}; give one, or leave it out` : `${key} ${of}; leave it out`
      throw new Fault(invalidBalance, `/${option} is for rules with ${remedy}`, {
        details: { field: `/${option}`, reason: key }
      })
    },
    check: async () => {},
    save: set,
    clear: (rule, em) => set(rule, null, em),
    async load(ids, em) {
      const rows = await em.find(BalanceOptions, { rule: { $in: [...ids] } })
      return new Map(rows.flatMap(row => (row[column] == null ? [] : [[row.rule, row[column]] as const])))
    },
    encode
  })
}

export const options = [
  optionField({
    column: 'slowConnectMs',
    minimum: 0,
    maximum: 3000,
    description: `A target whose connects take this much longer than is usual in its priority, and three times as long, is ejected for a time. 0: none is. Null: ${defaults.slowConnectMs}.`,
    example: 100,
    message: SlowConnect,
    encode: ms => ({ ms }),
    of: null
  }),
  optionField({
    column: 'slowStartSecs',
    minimum: 0,
    maximum: 900,
    description: `How long the share of a target grows that returns or is new. 0: it has its whole share at once. Null: ${defaults.slowStartSecs}.`,
    example: 60,
    message: SlowStart,
    encode: secs => ({ secs }),
    of: null
  }),
  optionField({
    column: 'sourcePrefix',
    minimum: 1,
    maximum: 128,
    description:
      'Of source_hash: callers whose IPv6 addresses have these first bits in common keep one target. Null: 128.',
    example: 64,
    message: SourcePrefix,
    encode: bits => ({ bits }),
    of: 'source_hash'
  })
]
