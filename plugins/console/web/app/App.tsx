import { createTheme, MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { queryClient } from '../api/query-client.ts'
import { ErrorBoundary } from '../parts/ErrorBoundary.tsx'
import { ConfirmationHost } from './ConfirmationHost.tsx'
import { Gate } from './Gate.tsx'
import { Notices } from './Notices.tsx'

const theme = createTheme({
  primaryColor: 'cyan',
  primaryShade: { light: 9, dark: 9 },
  fontFamily: 'system-ui, sans-serif',
  fontFamilyMonospace: 'ui-monospace, Menlo, Consolas, monospace',
  defaultRadius: 'sm',
  radius: { sm: '0.375rem', md: '0.625rem' },
  headings: { fontWeight: '650', sizes: { h2: { fontSize: '1.5rem' }, h4: { fontSize: '1.0625rem' } } },
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    InputWrapper: { defaultProps: { withAsterisk: false } }, // most fields are required; optional ones say so
    Text: { defaultProps: { size: 'sm' } } // like fields and tables
  }
})

/** The nonce of this response, for the style elements that Mantine creates. */
const nonce = (): string => document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? ''

// react-remove-scroll, which dialogs use, reads its nonce from here.
Object.assign(globalThis, { __webpack_nonce__: nonce() })

export const App = () => (
  <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={nonce}>
    <QueryClientProvider client={queryClient}>
      <ErrorBoundary resetKey="">
        <Gate />
      </ErrorBoundary>
      <ConfirmationHost />
      <Notices />
    </QueryClientProvider>
  </MantineProvider>
)
