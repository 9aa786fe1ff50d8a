import type { Me } from '../../api/me.ts'
import { PageHead } from '../../parts/page/PageHead.tsx'
import { NotFound } from '../NotFound.tsx'
import { PluginElement } from './PluginElement.tsx'
import { titleOf, usePluginParts } from './plugin-parts.ts'

export default function PluginPage({ name, me }: { readonly name: string; readonly me: Me }) {
  const part = usePluginParts().find(found => found.on === 'page' && found.name === name)
  if (part === undefined) return <NotFound />
  return (
    <>
      <PageHead title={titleOf(part)} />
      <PluginElement key={part.module} part={part} me={me} />
    </>
  )
}
