// The slots that commands read. This module loads no server code.
import type { TProperties } from 'typebox'
import type { Api, Column } from '../../kernel/cli/command.ts'
import { defineSlot } from '../../kernel/slot.ts'
import type { RuleRecord } from './api/rule-record.ts'

/** Options of `rule push`: `args` declares them, `body` converts them to properties of the request. */
export interface PushOptions {
  readonly args: TProperties
  readonly body: (
    args: Readonly<Record<string, unknown>>,
    api: Api
  ) => Readonly<Record<string, unknown>> | Promise<Readonly<Record<string, unknown>>>
  /** Returns true if these options place the rule: then the command has no argument CLIENT. */
  readonly places?: (args: Readonly<Record<string, unknown>>) => boolean
}

export const pushOptionsSlot = defineSlot<PushOptions>('rules.push-options')

/** Adds a column to `rule list`. */
export const columnSlot = defineSlot<Column<RuleRecord>>('rules.column')

/** Counts the live connections and flows of a rule. `apply` shows them before it removes the rule. */
export const liveTrafficSlot = defineSlot<(ruleId: string, api: Api) => Promise<number>>('rules.live-traffic')
