// The other sections of a plugin's chapter. An empty section is ''.
import type { TObject } from 'typebox'
import type { ErrorCode } from '../../../kernel/base/errors.ts'
import type { Plugin } from '../../../kernel/plugin.ts'
import { errorExplanationSlot, filledBare } from '../../cli/command-exports.ts'
import type { PluginDescription } from '../describe-plugin.ts'
import { fieldOf, fieldsOf, type Schema } from './fields.ts'
import { type Chapter, code, codes, fieldsTable, table } from './markdown.ts'
import type { Preview } from './preview.ts'

/** `owner`: a suffix that names the owner of the configuration, if it is not the server. */
export const sectionText = (
  { name, from }: PluginDescription,
  { config }: Pick<Plugin, 'config'> | { readonly config?: TObject },
  owner = ''
): string => {
  const rows = config ? fieldsTable(fieldsOf(config as Schema), 'Key') : ''
  return rows === ''
    ? ''
    : `In \`[plugins.${from === 'built in' ? name : JSON.stringify(from)}]\`${owner}:\n\n${rows}`
}

export const topKeysChapter = (keys: Plugin['keys']): Chapter => ({
  title: 'At the top of the configuration',
  text: keys ? keysTable(keys) : ''
})

/** Each top-level key also has an environment variable. */
export function keysTable(keys: NonNullable<Plugin['keys']>): string {
  return table(
    ['Key', 'Environment', 'Type', 'Given', 'Meaning'],
    fieldsOf(keys as Schema).map(({ path, type, given, description }) => [
      code(path),
      code(`SVC_${path.toUpperCase()}`),
      type,
      given,
      description
    ])
  )
}

/** The part of `RuleField` that the reference uses. This plugin does not import plugins/rules. */
interface RuleField {
  readonly key: string
  readonly body: Schema
  readonly change: 'frozen' | 'hot'
  /** Absent if agents do not receive the field. */
  readonly requires?: { readonly capability: { readonly id: string; readonly since: string } }
}

export function ruleFieldsText({ name, fills = [] }: Plugin, { filled }: Preview): string {
  const slot = fills.map(fill => fill.slot).find(({ id }) => id === 'rules.field')
  const own = (slot ? filled<RuleField>(slot as never) : []).filter(({ by }) => by === name)
  return table(
    ['Field', 'Type', 'A change counts', 'Agents need', 'Meaning'],
    own.flatMap(({ value: { key, body, change, requires } }) =>
      [fieldOf({ path: key, part: body, isRequired: false }), ...fieldsOf(body, key)].map(
        ({ path, type, description }) => [
          code(path),
          type,
          !requires
            ? 'on the server'
            : change === 'hot'
              ? 'for live connections, too'
              : 'for new connections',
          requires ? code(`${requires.capability.id} ${requires.capability.since}`) : '',
          description
        ]
      )
    )
  )
}

export const tablesText = ({ store }: Plugin, { columns }: Preview): string =>
  (store?.entities ?? [])
    .map(({ meta }) => {
      const rows = columns.filter(column => column.table === meta.tableName)
      const kinds = { key: 'primary key', nullable: 'may be null', value: '' }
      const cells = rows.map(({ name, type, role }) => [code(name), type, kinds[role]])
      return `${code(meta.tableName)}\n\n${table(['Column', 'Type', ''], cells)}`
    })
    .join('\n\n')

export function metricsText({ name }: Plugin, { metrics }: Preview): string {
  const samples = metrics.get(name)
  if (samples === null) return 'See `/v1/metrics` of a running server.'
  return table(
    ['Metric', 'Type', 'Labels', 'Meaning'],
    (samples ?? []).map(({ name, type, labels, help }) => [code(name), type, codes(labels), help])
  )
}

export const servicesText = ({ name, services }: PluginDescription): string =>
  services.length > 0 ? `A plugin that needs \`${name}\` has ${codes(services)} among its services.` : ''

export const slotsText = ({ slots, fills }: PluginDescription): string =>
  [slots.length > 0 ? `Owns ${codes(slots)}.` : '', fills.length > 0 ? `Fills ${codes(fills)}.` : '']
    .filter(text => text !== '')
    .join('\n\n')

export const messagesText = ({ messages = [] }: Plugin): string => codes(messages.map(({ name }) => name))

export function codesTable(rows: readonly ErrorCode[], plugins: readonly Plugin[] = []): string {
  const explained = filledBare(errorExplanationSlot, plugins).map(({ value }) => value)
  const head = ['Code', 'HTTP', 'Exit code']
  const cells = ({ code: name, http, exit }: ErrorCode): string[] => [code(name), String(http), String(exit)]
  if (explained.length === 0) return table(head, rows.map(cells))
  return table(
    [...head, 'When', 'Remedy'],
    rows.map(row => {
      const { when = '', remedy = '' } = explained.find(({ code }) => code.code === row.code) ?? {}
      return [...cells(row), when, remedy]
    })
  )
}
