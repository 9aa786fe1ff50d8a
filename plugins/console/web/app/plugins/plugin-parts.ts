// Pages and cards of plugins.
import { useQuery } from '@tanstack/react-query'
import { type Row, rows } from '../../api/call.ts'
import { language } from '../../text/text.ts'

export type PluginPart = Row<'GET /v1/console/parts'>

export const usePluginParts = (): readonly PluginPart[] =>
  useQuery({
    queryKey: ['console-parts'],
    queryFn: () => rows('GET /v1/console/parts'),
    refetchInterval: false,
    staleTime: 60_000
  }).data ?? []

export const titleOf = ({ title }: PluginPart): string => title[language]
export const pathOf = ({ name }: PluginPart): string => `/pages/${name}`
export const iconOf = ({ icon }: PluginPart): string =>
  icon ?? 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z'

/** Returns the subject of the page at a path, which selects the cards below it; null if it takes no cards. */
export function subjectAt(path: string) {
  if (path === '/') return { on: 'overview', ids: {} } as const
  const [, list, id = ''] = /^\/(rules|clients)\/([0-9A-Z]{26})(?:\/|$)/.exec(path) ?? []
  if (list === 'rules') return { on: 'rule', ids: { rule_id: id } } as const
  return list === 'clients' ? ({ on: 'client', ids: { client_id: id } } as const) : null
}
