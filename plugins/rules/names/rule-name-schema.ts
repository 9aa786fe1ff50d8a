import { Type } from 'typebox'
import { defineCode } from '../../../kernel/base/errors.ts'
import { isRuleName, maxName } from './is-rule-name.ts'

export const invalidRuleName = defineCode('validation.rule_name', 400, 3)

/** Returns the schema of a name in a request. Other text is `validation.rule_name`. */
export const ruleNameSchema = (description: string) =>
  Type.Refine(
    Type.String({ maxLength: maxName, code: invalidRuleName.code, description, examples: ['web'] }),
    isRuleName,
    text =>
      `must be 1 to ${maxName} of a-z, 0-9 and -, and begin and end with a letter or digit, got ${JSON.stringify(text)}`
  )
