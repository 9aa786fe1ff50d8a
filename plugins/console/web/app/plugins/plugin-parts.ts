// The pages and cards that plugins bring.
import { useQuery } from '@tanstack/react-query'
import { type Row, rows } from '../../api/call.ts'
import { language } from '../../text/text.ts'

export type Part = Row<'GET /v1/console/parts'>

export const useParts = (): readonly Part[] =>
  useQuery({
    queryKey: ['console-parts'],
    queryFn: () => rows('GET /v1/console/parts'),
    refetchInterval: false,
    staleTime: 60_000
  }).data ?? []

export const titleOf = ({ title }: Part): string => title[language]
export const pathOf = ({ name }: Part): string => `/pages/${name}`
export const iconOf = ({ icon }: Part): string => icon ?? 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z'

/** What the page at a path is about: cards are shown below it. */
export function subjectOf(path: string) {
  if (path === '/') return { on: 'overview', ids: {} } as const
  const [, list, id = ''] = /^\/(rules|edges)\/([0-9A-Z]{26})(?:\/|$)/.exec(path) ?? []
  if (list === 'rules') return { on: 'rule', ids: { rule_id: id } } as const
  return list === 'edges' ? ({ on: 'edge', ids: { client_id: id } } as const) : null
}
