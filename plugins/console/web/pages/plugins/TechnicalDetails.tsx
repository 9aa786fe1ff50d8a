import { text } from '../../text/text.ts'
import type { Plugin } from './queries.ts'

const toPairs = (versions: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(versions).map(([name, version]) => `${name} ${version}`)

/** Shows details for authors of plugins, folded. */
export function TechnicalDetails({ plugin }: { readonly plugin: Plugin }) {
  const lists = [
    ['routes', plugin.routes],
    ['commands', plugin.commands],
    ['tables', plugin.tables],
    ['fields', plugin.fields],
    ['slots', plugin.slots],
    ['fills', plugin.fills],
    ['capabilities', toPairs(plugin.capabilities)],
    ['kernel', [plugin.kernel]]
  ] as const
  return (
    <details className="section technical">
      <summary>{text.pluginsPage.technical}</summary>
      <dl>
        {lists
          .filter(([, items]) => items.length > 0)
          .map(([name, items]) => (
            <div key={name}>
              <dt>{text.pluginsPage[name]}</dt>
              {items.map(item => (
                <dd key={item}>
                  <code>{item}</code>
                </dd>
              ))}
            </div>
          ))}
      </dl>
    </details>
  )
}
