import { Type } from 'typebox'
import { defineCommand } from '../../kernel/cli/command.ts'
import type { RuleStats } from './schema.ts'

const stats = defineCommand({
  name: 'rule stats',
  summary: 'Show what a rule has forwarded so far.',
  args: Type.Object({ rule: Type.String({ description: 'Id of a rule.' }) }),
  positional: ['rule'],
  needs: 'api',
  run: async ({ api, args, print }) =>
    print.data(await api.get<RuleStats>(`/v1/rules/${encodeURIComponent(args.rule)}/stats`))
})

export const commands = [stats]
