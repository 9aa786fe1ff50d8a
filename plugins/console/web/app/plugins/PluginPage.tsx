import type { Me } from '../../api/me.ts'
import { Head } from '../../parts/PageHead.tsx'
import { NotFound } from '../NotFound.tsx'
import { Element } from './PluginElement.tsx'
import { titleOf, useParts } from './plugin-parts.ts'

/** The page of a plugin. */
export default function PluginPage({ name, me }: { readonly name: string; readonly me: Me }) {
  const part = useParts().find(found => found.on === 'page' && found.name === name)
  if (part === undefined) return <NotFound />
  return (
    <>
      <Head title={titleOf(part)} />
      <Element key={part.module} part={part} me={me} />
    </>
  )
}
