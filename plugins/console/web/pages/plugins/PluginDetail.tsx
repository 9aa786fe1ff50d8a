import { Text } from '@mantine/core'
import { useRight } from '../../api/rights.ts'
import { Facts } from '../../parts/Facts.tsx'
import { PageHead } from '../../parts/page/PageHead.tsx'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { Section } from '../../parts/page/Section.tsx'
import { text } from '../../text/text.ts'
import type { Plugin } from './queries.ts'

const toPairs = (versions: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(versions).map(([name, version]) => `${name} ${version}`)

export function PluginDetail({ plugin }: { readonly plugin: Plugin }) {
  const seesSettings = useRight('managesUsers')
  const lists = [
    ['may', plugin.may],
    ['routes', plugin.routes],
    ['commands', plugin.commands],
    ['tables', plugin.tables],
    ['fields', plugin.fields],
    ['slots', plugin.slots],
    ['fills', plugin.fills],
    ['needs', toPairs(plugin.needs)],
    ['capabilities', toPairs(plugin.capabilities)]
  ] as const
  return (
    <>
      <PageLink to="/plugins">{text.pages.plugins}</PageLink>
      <PageHead title={plugin.name} />
      {plugin.description !== '' && <Text mb="md">{plugin.description}</Text>}
      <Facts
        facts={[
          { name: text.pluginsPage.version, value: plugin.version },
          { name: text.pluginsPage.from, value: text.pluginsPage.origins[plugin.from] },
          { name: text.pluginsPage.kernel, value: plugin.kernel },
          {
            name: text.pluginsPage.agent,
            value: plugin.has_agent ? text.pluginsPage.yes : text.pluginsPage.no
          }
        ]}
      />
      {seesSettings && (
        <Section title={text.pluginsPage.settings}>
          {plugin.settings.length === 0 ? (
            <Text c="dimmed">{text.pluginsPage.noSettings}</Text>
          ) : (
            <SettingsTable settings={plugin.settings} />
          )}
        </Section>
      )}
      {lists
        .filter(([, items]) => items.length > 0)
        .map(([name, items]) => (
          <Section key={name} title={text.pluginsPage[name]}>
            <ul className="items">
              {items.map(item => (
                <li key={item}>{item}</li>
              ))}
            </ul>
          </Section>
        ))}
    </>
  )
}

const SettingsTable = ({ settings }: Pick<Plugin, 'settings'>) => (
  <table className="plain">
    <thead>
      <tr>
        <th scope="col">{text.pluginsPage.settings}</th>
        <th scope="col">{text.pluginsPage.value}</th>
      </tr>
    </thead>
    <tbody>
      {settings.map(setting => (
        <tr key={setting.key}>
          <th scope="row">
            <code>{setting.key}</code>
            <Text size="sm" c="dimmed">
              {setting.description}
            </Text>
          </th>
          <td>{formatSetting(setting)}</td>
        </tr>
      ))}
    </tbody>
  </table>
)

function formatSetting({ value, hidden, is_default }: Plugin['settings'][number]): string {
  if (hidden) return text.pluginsPage.hidden
  if (value === null) return text.pluginsPage.unset
  const shown = typeof value === 'string' ? value : JSON.stringify(value)
  return is_default ? `${shown} (${text.pluginsPage.default})` : shown
}
