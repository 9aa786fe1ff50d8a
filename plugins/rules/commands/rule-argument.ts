// The RULE argument of commands.
import { Type } from '../../../kernel/cli/args.ts'

/** Completed in a shell: rules by id. */
export const ruleIds = { values: ['/v1/rules', 'rule_id'] } as const

export const RuleArg = Type.String({ description: 'rule_id', ...ruleIds })
