import { Type } from 'typebox'
import { defineCommand } from '../../kernel/cli/command.ts'
import type { RuleStats, Summary } from './schema.ts'

const stats = defineCommand({
  name: 'rule stats',
  summary: 'Show what a rule has forwarded so far.',
  args: Type.Object({ rule: Type.String({ description: 'Id of a rule.' }) }),
  positional: ['rule'],
  needs: 'api',
  run: async ({ api, args, print }) =>
    print.data(await api.get<RuleStats>(`/v1/rules/${encodeURIComponent(args.rule)}/stats`))
})

const summary = defineCommand({
  name: 'stats summary',
  summary: 'Show how many clients and rules there are, and what they forward.',
  args: Type.Object({}),
  needs: 'api',
  run: async ({ api, print }) => print.data(await api.get<Summary>('/v1/stats/summary'))
})

export const commands = [stats, summary]
