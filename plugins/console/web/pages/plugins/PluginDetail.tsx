import { Text } from '@mantine/core'
import { useRight } from '../../api/rights.ts'
import { Command } from '../../parts/Command.tsx'
import { Facts } from '../../parts/Facts.tsx'
import { PlainTable } from '../../parts/PlainTable.tsx'
import { PageHead } from '../../parts/page/PageHead.tsx'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { Section } from '../../parts/page/Section.tsx'
import { text } from '../../text/text.ts'
import { aboutPlugin, type Plugin } from './queries.ts'
import { TechnicalDetails } from './TechnicalDetails.tsx'

interface Props {
  readonly plugin: Plugin
  readonly all: readonly Plugin[]
}

/** The page on which a plugin is used. */
const pageOf: Readonly<Record<string, keyof typeof text.pages>> = {
  'advertised-endpoint': 'settings',
  audit: 'audit',
  bans: 'bans',
  certificate: 'settings',
  clients: 'clients',
  connections: 'connections',
  enrollment: 'clients',
  links: 'links',
  quota: 'quotas',
  rules: 'rules',
  servers: 'settings',
  'source-filter': 'sources',
  traffic: 'traffic',
  'under-attack': 'bans',
  users: 'users'
}

/** Shows what a plugin does, how to turn it off, and what can be set. */
export function PluginDetail({ plugin, all }: Props) {
  const seesSettings = useRight('managesUsers')
  const needs = Object.keys(plugin.needs)
  const neededBy = all.filter(({ needs }) => Object.hasOwn(needs, plugin.name)).map(({ name }) => name)
  const page = pageOf[plugin.name]
  return (
    <>
      <PageLink to="/plugins">{text.pages.plugins}</PageLink>
      <PageHead title={plugin.name} />
      <Text mb="md" size="md">
        {aboutPlugin(plugin)}
      </Text>
      <Facts
        facts={[
          page !== undefined && { name: text.pluginsPage.page, value: text.pages[page], to: `/${page}` },
          { name: text.pluginsPage.from, value: text.pluginsPage.origins[plugin.from] },
          { name: text.pluginsPage.version, value: plugin.version },
          {
            name: text.pluginsPage.agent,
            value: plugin.has_agent ? text.pluginsPage.yes : text.pluginsPage.no
          },
          needs.length > 0 && { name: text.pluginsPage.needs, value: <Names names={needs} /> },
          neededBy.length > 0 && { name: text.pluginsPage.neededBy, value: <Names names={neededBy} /> }
        ]}
      />
      {seesSettings && <Settings settings={plugin.settings} />}
      <TurnOff plugin={plugin} neededBy={neededBy} />
      {plugin.may.length > 0 && (
        <Section title={text.pluginsPage.may}>
          <ul className="items">
            {plugin.may.map(permission => (
              <li key={permission}>{text.pluginsPage.permissions[permission] ?? permission}</li>
            ))}
          </ul>
        </Section>
      )}
      <TechnicalDetails plugin={plugin} />
    </>
  )
}

const Names = ({ names }: { readonly names: readonly string[] }) => (
  <ul className="names">
    {names.map(name => (
      <li key={name}>
        <PageLink to={`/plugins/${name}`}>{name}</PageLink>
      </li>
    ))}
  </ul>
)

const TurnOff = ({ plugin, neededBy }: { readonly plugin: Plugin; readonly neededBy: readonly string[] }) => (
  <Section title={text.pluginsPage.turn}>
    {neededBy.length > 0 && <Text mb="xs">{text.pluginsPage.turnOffNeeded(neededBy.join(', '))}</Text>}
    <Text mb="xs">{text.pluginsPage.turnOff[plugin.from]}</Text>
    {plugin.from === 'built in' && (
      <>
        <Command value={`[plugins.${plugin.name}]\nenabled = false`} />
        <Text mt="xs" c="dimmed">
          {text.pluginsPage.turnOn}
        </Text>
      </>
    )}
  </Section>
)

const Settings = ({ settings }: Pick<Plugin, 'settings'>) => (
  <Section
    title={text.pluginsPage.settings}
    {...(settings.length > 0 && { note: text.pluginsPage.settingsNote })}
  >
    {settings.length === 0 ? (
      <Text c="dimmed">{text.pluginsPage.noSettings}</Text>
    ) : (
      <PlainTable
        label={text.pluginsPage.settings}
        columns={[
          { title: text.pluginsPage.key },
          { title: text.pluginsPage.value },
          { title: text.pluginsPage.meaning }
        ]}
        rows={settings.map(setting => ({
          key: setting.key,
          cells: [
            <code key="key">{setting.key}</code>,
            formatSetting(setting),
            text.pluginsPage.meanings[setting.key] ?? setting.description
          ]
        }))}
      />
    )}
  </Section>
)

function formatSetting({ value, hidden, is_default }: Plugin['settings'][number]): string {
  if (hidden) return text.pluginsPage.hidden
  if (value === null) return text.pluginsPage.unset
  const shown = typeof value === 'string' ? value : JSON.stringify(value)
  return is_default ? `${shown} (${text.pluginsPage.default})` : shown
}
