import { useQuery } from '@tanstack/react-query'
import { type Row, rows } from '../../api/call.ts'
import { text } from '../../text/text.ts'

export type Plugin = Row<'GET /v1/plugins'>

export const usePlugins = () => useQuery({ queryKey: ['plugins'], queryFn: () => rows('GET /v1/plugins') })

/** Returns what the plugin does. Descriptions of external plugins come from their manifests. */
export const aboutPlugin = ({ name, from, description }: Plugin): string =>
  (from === 'built in' && text.pluginsPage.about[name]) || description
