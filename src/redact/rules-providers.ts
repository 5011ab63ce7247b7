// The provider table: how the tokens of known services look, one row each, written from the providers' own
// documentation. It owns shapes only; how they are looked for is in scan.ts. Columns are parted by two or more spaces:
//   id   literals (any of them starts the token)   shape after the literal   what it is
// `left<>right` in a shape: `left` must stand directly before the literal and belongs to the token.
const W = '[A-Za-z0-9_-]'
const A = '[A-Za-z0-9]'
const H = '[0-9a-f]'
const B = '[A-Za-z0-9+/]'
const UUID = `${H}{8}-${H}{4}-${H}{4}-${H}{4}-${H}{12}`
const END = '(?![A-Za-z0-9])'
// For literals that base64 holds by chance: there a dash or an underscore before them begins no word.
const START = '(?<![A-Za-z0-9_-])'

const TABLE = `
aws-access-key  AKIA ASIA ABIA ACCA A3T  [A-Z0-9]{16,17}${END}  AWS access key id
aws-bedrock-key  ABSK  ${B}{60,300}={0,2}  Amazon Bedrock long-lived key
aws-bedrock-short-key  bedrock-api-key-  ${B}{20,4000}={0,2}  Amazon Bedrock short-lived key
aws-mws-key  amzn.mws.  ${UUID}  Amazon MWS token
alibaba-access-key  LTAI  ${A}{12,26}${END}  Alibaba Cloud access key id
tencent-secret-id  AKID  ${A}{32,36}${END}  Tencent Cloud secret id
gcp-api-key  AIza  ${W}{35}(?!${A})  Google API key
gcp-oauth-token  ya29.  ${W}{20,1000}  Google OAuth access token
gcp-refresh-token  1//0  ${W}{40,120}  Google OAuth refresh token
gcp-client-secret  GOCSPX-  ${W}{28}  Google OAuth client secret
gcp-hmac-key  GOOG1  [A-Za-z0-9]{40,64}  Google Cloud Storage HMAC key
azure-client-secret  Q~  [A-Za-z0-9_~.-]{3}[0-9]<>[A-Za-z0-9_~.-]{31,34}  Azure AD client secret
azure-storage-key  +ASt  ${B}{76}<>${A}{6}==  Azure storage account key
azure-function-key  AzFu  ${B}{44}<>[A-Za-z0-9_+/-]{6,8}(?:==)?  Azure function key
azure-signed-key  JQQJ9 JQQJ99  ${A}{52}<>${A}{20,40}  Azure resource key with signature
azure-devops-token  AZDO  ${A}{76}<>${A}{4}  Azure DevOps personal access token
digitalocean-token  dop_v1_ doo_v1_ dor_v1_  ${H}{64}  DigitalOcean token
yandex-token  t1.  [A-Z0-9a-z_-]{60,250}[=]{0,2}\\.[A-Z0-9a-z_-]{80,100}[=]{0,2}  Yandex IAM token
yandex-api-key  AQVN  ${W}{35,38}  Yandex API key
yandex-access-token  YC  [A-Za-z0-9_-]{38}(?!${W})  Yandex static access key
cloudflare-origin-ca  v1.0-  ${H}{24}-${H}{146}  Cloudflare origin CA key
cloudflare-token  cfut_ cfat_ cfk_  ${A}{32,60}  Cloudflare API token
flyio-token  fo1_ fm1r_ fm2_ fm1a_  [A-Za-z0-9+/_-]{40,500}={0,3}  Fly.io token
heroku-token  HRKU-  [0-9A-Za-z_-]{36,80}  Heroku API key
vercel-token  vcp_ vci_ vca_ vcr_ vck_  ${A}{24,80}  Vercel token
netlify-token  nfp_ nfc_ nfo_ nfu_ nfb_  ${A}{36,60}  Netlify token
render-token  rnd_  ${A}{26,40}  Render API key
planetscale-token  pscale_tkn_ pscale_pw_ pscale_oauth_  [A-Za-z0-9=._-]{32,64}  PlanetScale token or password
supabase-token  sbp_  (?:v0_|oauth_)?${H}{40}  Supabase access token
supabase-secret  sb_secret_  ${W}{20,64}  Supabase secret key
neon-token  napi_  [a-z0-9]{48,80}  Neon API key
aiven-token  AVNS_  ${W}{17,40}  Aiven service password
databricks-token  dapi  ${H}{32}(?:-\\d)?  Databricks token
confluent-secret  cflt  ${B}{60}  Confluent API secret
clickhouse-key  4b1d  ${A}{38}${END}  ClickHouse Cloud key
terraform-token  .atlasv1.  ${A}{14}<>[A-Za-z0-9=_-]{60,75}  Terraform Cloud token
vault-token  hvs. hvb. hvr.  ${W}{24,300}  HashiCorp Vault token
pulumi-token  pul-  ${H}{40}  Pulumi access token
doppler-token  dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.  [A-Za-z0-9._-]{30,70}  Doppler token
infisical-token  st.  ${H}{24}\\.${H}{32}\\.${H}{32}  Infisical service token
onepassword-token  ops_eyJ  ${B}{200,2000}={0,3}  1Password service account token
onepassword-secret-key  A3-  [A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}  1Password secret key
age-secret-key  AGE-SECRET-KEY-1  [QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}  age identity
anthropic-key  sk-ant-  ${W}{24,200}  Anthropic API, admin or OAuth key
openai-key  sk-proj- sk-svcacct- sk-admin- sk-None-  ${W}{20,250}  OpenAI project, service account or admin key
openai-user-key  T3BlbkFJ  sk-${W}{20,100}<>${W}{20,100}  OpenAI key with its mark inside
openrouter-key  sk-or-  v1-${H}{64}  OpenRouter key
sk-dash-key  sk-  ${A}{32,64}${END}  Key in the sk- form (OpenAI, DeepSeek, Moonshot, …)
sk-underscore-key  sk_  ${H}{40,64}${END}  Key in the sk_ form with hex
xai-key  xai-  ${A}{60,100}  xAI key
huggingface-token  hf_ api_org_  ${A}{34,40}  Hugging Face token
replicate-token  r8_  ${A}{37,40}  Replicate token
groq-key  gsk_  ${A}{48,56}  Groq key
perplexity-key  pplx-  ${A}{32,64}  Perplexity key
fireworks-key  fw_  ${A}{22,40}${END}  Fireworks key
nvidia-key  nvapi-  ${W}{40,100}  NVIDIA API key
cerebras-key  csk-  [a-z0-9]{40,60}  Cerebras key
langsmith-key  lsv2_pt_ lsv2_sk_ ls__  [0-9a-f_]{32,50}  LangSmith key
langfuse-key  sk-lf- pk-lf-  ${UUID}  Langfuse key
pinecone-key  pcsk_  ${W}{50,100}  Pinecone key
tavily-key  tvly-  ${W}{20,60}  Tavily key
voyage-key  pa-  ${W}{40,50}(?!${W})  Voyage AI key
jina-key  jina_  ${A}{40,70}  Jina key
e2b-key  e2b_  ${H}{40}  E2B key
wandb-key  wandb_v1_  ${W}{40,100}  Weights & Biases key
apify-token  apify_api_  ${A}{34,40}  Apify token
firecrawl-key  fc-  ${H}{32}${END}  Firecrawl key
github-token  ghp_ gho_ ghu_ ghs_ ghr_  ${A}{36,255}  GitHub token
github-fine-grained  github_pat_  [A-Za-z0-9_]{60,90}  GitHub fine-grained token
gitlab-token  glpat- glptt- gldt- glrt- glcbt- glft- glimt- glagent- glsoat- glffct- gloas-  [A-Za-z0-9_.=-]{16,120}  GitLab token
gitlab-runner-registration  GR1348941  ${W}{20,30}  GitLab runner registration token
gitlab-session  _gitlab_session=  ${H}{32}  GitLab session cookie
bitbucket-token  ATCTT3xFfG ATBB  [A-Za-z0-9_=-]{24,250}  Bitbucket token or app password
atlassian-token  ATATT3xFfG ATSTT3xFfG ATOATT3xFfG ATAST3xFfG  [A-Za-z0-9+/=_-]{60,250}  Atlassian API token
npm-token  npm_  ${A}{36}${END}  npm access token
pypi-token  pypi-AgE  ${W}{50,1000}  PyPI or TestPyPI token
rubygems-key  rubygems_  ${H}{48}  RubyGems key
crates-token  cio  ${A}{32}${END}  crates.io token
docker-token  dckr_pat_ dckr_oat_  ${W}{27,40}  Docker Hub token
jfrog-api-key  AKCp  ${A}{60,80}  JFrog Artifactory API key
jfrog-reference-token  cmVmd  ${A}{57,62}  JFrog reference token
nuget-key  oy2  [a-z0-9]{43}${END}  NuGet key
clojars-token  CLOJARS_  [a-z0-9]{60}  Clojars token
circleci-token  CCIPAT_ CCIPRJ_  [A-Za-z0-9_]{40,90}  CircleCI token
buildkite-token  bkua_ bkct_ bkpt_  ${A}{40,70}  Buildkite token
sourcegraph-token  sgp_ sgd_ sgk_  (?:(?:[0-9a-fA-F]{16}|local)_)?[0-9a-fA-F]{40,64}  Sourcegraph token
sonar-token  squ_ sqp_ sqa_  ${A}{40}  SonarQube token
snyk-token  snyk_uat. snyk_sat. snyk.  [A-Za-z0-9._-]{40,200}  Snyk token
slack-token  xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxc- xoxd- xoxe- xoxe. xapp- xwfp-  [A-Za-z0-9-]{11,250}(?:[%.][A-Za-z0-9%.-]{1,150})?  Slack token
slack-webhook  hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/  [A-Za-z0-9+/]{30,100}  Slack webhook
discord-webhook  discord.com/api/webhooks/ discordapp.com/api/webhooks/  \\d{17,20}/${W}{60,80}  Discord webhook
discord-bot-token  .G .X .Y .Z  [MNO]${W}{23,27}<>[A-Za-z0-9_-]{5}\\.${W}{27,40}  Discord bot token
telegram-bot-token  :AA  \\d{6,10}<>${W}{32,34}(?!${W})  Telegram bot token
teams-webhook  .webhook.office.com/  ${A}{2,40}<>webhookb2/[0-9a-z-]{36}@[0-9a-z-]{36}/[A-Za-z]{4,20}/[0-9a-z]{32}/[0-9a-z-]{36}  Microsoft Teams webhook
mattermost-webhook  /hooks/  [A-Za-z0-9.-]{4,60}<>[a-z0-9]{26}${END}  Mattermost or Rocket.Chat webhook
stripe-key  sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_  ${A}{16,250}  Stripe secret or restricted key
stripe-webhook-secret  whsec_  [A-Za-z0-9+/=]{24,120}  Stripe or Svix webhook secret
square-token  EAAAE EAAAl EAAAF  [A-Za-z0-9_=-]{55,80}  Square access token
square-secret  sq0csp- sq0atp- sq0idp-  ${W}{22,50}  Square OAuth secret or token
paypal-braintree-token  access_token$production$ access_token$sandbox$  [a-z0-9]{16}\\$${H}{32}  Braintree access token
shopify-token  shpat_ shpca_ shppa_ shpss_ shptka_ shpltm_  [0-9a-fA-F]{32,64}  Shopify token
plaid-token  access-sandbox- access-development- access-production-  ${UUID}  Plaid access token
flutterwave-key  FLWSECK- FLWSECK_TEST- FLWPUBK_TEST-  [0-9A-Za-z-]{12,60}  Flutterwave key
razorpay-key  rzp_live_ rzp_test_  ${A}{14,24}  Razorpay key
checkout-key  sk_sbox_ pk_sbox_  [a-z0-9*#$=-]{20,40}  Checkout.com key
lob-key  live_ test_  ${H}{35}${END}  Lob key
easypost-key  EZAK EZTK  ${A}{54}  EasyPost key
shippo-token  shippo_live_ shippo_test_  ${H}{40}  Shippo token
duffel-token  duffel_live_ duffel_test_  [A-Za-z0-9_=-]{43}  Duffel token
gocardless-token  live_ sandbox_  [A-Za-z0-9_=-]{40}(?!${W})  GoCardless token
adyen-key  AQE  [A-Za-z0-9+/=._-]{100,300}  Adyen API key
sendgrid-key  SG.  [A-Za-z0-9_-]{16,32}\\.${W}{16,64}  SendGrid key
sendinblue-key  xkeysib- xsmtpsib-  [A-Za-z0-9_-]{50,100}  Brevo (Sendinblue) key
mailgun-key  key- pubkey-  ${H}{32}${END}  Mailgun key
mailchimp-key  -us  ${H}{32}<>\\d{1,2}${END}  Mailchimp key
resend-key  re_  (?:${A}{8}_${A}{20,30}|${A}{30,40})${END}  Resend key
mailersend-token  mlsn.  ${H}{60,70}  MailerSend token
twilio-key  SK AC  ${H}{32}${END}  Twilio key or account SID
mapbox-token  sk.eyJ tk.eyJ  ${W}{60,120}\\.${W}{20,30}  Mapbox secret token
grafana-token  glsa_ glc_  [A-Za-z0-9+/=_]{32,400}  Grafana service account or cloud token
grafana-legacy-key  eyJrIjoi  ${B}{60,400}={0,3}  Grafana API key
newrelic-key  NRAK- NRJS- NRII- NRIQ- NRRA-  ${W}{19,50}  New Relic key
sentry-token  sntrys_eyJ sntryu_  [A-Za-z0-9+/=_-]{60,500}  Sentry token
dynatrace-token  dt0c01. dt0s01. dt0s02. dt0s16.  [A-Z2-7]{8,24}\\.[A-Z2-7]{40,64}  Dynatrace token
fcm-key  :APA91b  ${W}{8,24}<>${W}{100,200}  Firebase Cloud Messaging key or device token
posthog-key  phx_ phs_ phc_  ${A}{40,60}  PostHog key
honeycomb-key  hcaik_ hcxik_ hcalk_ hcxlk_ hcamk_ hcbik_  [a-z0-9]{58,62}  Honeycomb key
logfire-token  pylf_v  ${W}{40,120}  Logfire token
axiom-token  xaat- xapt-  ${UUID}  Axiom token
launchdarkly-key  sdk- api- mob-  [0-9a-z]{8}-[0-9a-z]{4}-[0-9a-z]{4}-[0-9a-z]{4}-[0-9a-z]{12}${END}  LaunchDarkly key
statsig-key  secret-  ${A}{40,50}${END}  Statsig server secret
rootly-token  rootly_  ${H}{60,70}  Rootly token
linear-key  lin_api_ lin_oauth_  ${A}{32,64}  Linear key
notion-token  ntn_ secret_  ${A}{43,50}${END}  Notion token
figma-token  figd_ figo_ figu_  ${W}{36,60}  Figma token
airtable-token  pat  ${A}{14}\\.${H}{64}  Airtable personal access token
airtable-oauth  oaa  ${A}{14}\\.v1\\.${W}{60,400}(?:\\.${W}{20,200})?  Airtable OAuth token
asana-token  1/  \\d{13,20}(?:/\\d{13,20})?:${H}{32}  Asana personal access token
postman-key  PMAK-  ${H}{24}-${H}{34}  Postman key
typeform-token  tfp_  [A-Za-z0-9_.=-]{40,70}  Typeform token
contentful-token  CFPAT-  ${W}{40,50}  Contentful management token
readme-key  rdme_  [a-z0-9]{60,80}  ReadMe key
frameio-token  fio-u-  [A-Za-z0-9_=-]{60,70}  Frame.io token
hubspot-token  pat-na1- pat-na2- pat-eu1- pat-ap1-  ${UUID}  HubSpot private app token
salesforce-token  00D  [A-Za-z0-9]{12,15}![A-Za-z0-9._]{80,120}  Salesforce session
salesforce-consumer-key  3MVG9  [A-Za-z0-9._]{80,120}  Salesforce consumer key
salesforce-refresh-token  5Aep861  [A-Za-z0-9._]{80,100}  Salesforce refresh token
intercom-token  dG9rO  [A-Za-z0-9+/]{54}=?  Intercom token
segment-token  sgp_  ${A}{64}${END}  Segment token
adafruit-key  aio_  ${A}{28}${END}  Adafruit IO key
adobe-secret  p8e-  ${W}{32}  Adobe client secret
facebook-token  EAAM EAAC EAAB EAAG EAAJ EAAD EAAK EAAL EAAP EAAQ  ${A}{80,260}  Meta access token
twitter-bearer  AAAAAAAAAAAAAAAAAAAAA  [A-Za-z0-9%]{60,120}  X (Twitter) bearer token
linkedin-token  AQX AQV AQU  ${START}<>${W}{150,400}  LinkedIn access token
instagram-token  IGQ IGAA  ${START}<>${W}{80,250}  Instagram token
dropbox-token  sl.u. sl.B sl.A  ${W}{100,1400}  Dropbox short-lived token
wakatime-key  waka_  ${UUID}  WakaTime key
tailscale-key  tskey-  [a-z]{2,12}-${W}{14,80}  Tailscale key
ngrok-token  ngrok_  ${A}{30,60}  ngrok token
netbird-token  nbp_  ${A}{36}  NetBird token
defined-token  dnkey-  [a-z0-9=_-]{26}-[a-z0-9=_-]{52}  Defined Networking token
prefect-token  pnu_ pnb_  [A-Za-z0-9]{36}  Prefect key
rapidapi-key  msh  ${H}{10}<>${H}{15}p1${H}{5}jsn${H}{12}  RapidAPI key
maxmind-key  _mmk  ${A}{6}_${A}{29}<>(?!${A})  MaxMind key
authress-key  ext_ scauth_ authress_  [a-z0-9._+/=-]{60,200}  Authress service key
intra42-secret  s-s4t2ud- s-s4t2af-  ${H}{64}  42 intranet client secret
lichess-token  lip_ lio_  ${A}{20,40}  Lichess token
infracost-key  ico-  ${A}{32}  Infracost key
settlemint-token  sm_pat_ sm_aat_ sm_sat_  ${A}{16,40}  SettleMint token
harness-token  pat. sat.  ${W}{22}\\.${H}{24}\\.${A}{20}  Harness token
octopus-key  API-  [A-Z0-9]{26,36}${END}  Octopus Deploy key
openshift-token  sha256~  ${W}{43}  OpenShift token
kubernetes-bootstrap  bootstrap-token-  [a-z0-9]{6}[^a-z0-9]{1,3}[a-z0-9]{16}  Kubernetes bootstrap token
rancher-token  kubeconfig-u- token-  [a-z0-9]{5,12}:[a-z0-9]{54}  Rancher token
private-packagist-token  packagist_  [a-z]{3,5}_${H}{68}  Private Packagist token
persona-key  persona_  [a-z]{4,12}_${W}{30,60}  Persona key
tatum-key  t-  ${H}{24}-${H}{24}  Tatum key
voiceflow-key  VF.DM. VF.WS.  ${H}{24}\\.${A}{16}  Voiceflow key
ramp-token  ramp_id_ ramp_sec_ ramp_tok_  ${A}{32,60}  Ramp credential
webflow-token  ws-  ${H}{64}  Webflow token
jwt  eyJ  [A-Za-z0-9+_/=-]{13,4000}\\.(?:[A-Za-z0-9+_/=-]{10,8000}|)\\.(?:[A-Za-z0-9+_/=-]{10,2000})?  JSON Web Token
jwt-unsigned  eyJ  [A-Za-z0-9+_/-]{16,4000}={0,2}\\.ey[A-Za-z0-9+_/-]{10,8000}={0,2}  JSON Web Token cut short
jwt-base64  ZXlK  ${B}{60,8000}={0,2}  JSON Web Token in base64
private-key-base64  LS0tLS1CRUdJTi  ${B}{60,20000}={0,2}  PEM block in base64
`

/** One shape: a token that begins with a literal. */
export interface ProviderRule {
  id: string
  literals: string[]
  /** Matches what stands before the literal, anchored at its end. */
  left: RegExp | undefined
  /** Matches what follows the literal, anchored at its start. */
  right: RegExp
  /** No match of `right` is longer. */
  longest: number
  note: string
}

/** Reads the table; throws if a row is not whole, so that a damaged table never runs with fewer rules. */
export function providerRules(): ProviderRule[] {
  return TABLE.trim()
    .split('\n')
    .map((line) => {
      const cells = line.split(/ {2,}/)
      const [id, literals, shape, note] = cells
      if (!id || !literals || !shape || !note || cells.length !== 4) throw new Error(`bad rule row: ${line}`)
      const words = literals.split(' ')
      return makeRule(id, words, shape, note)
    })
}

/** Compiles one rule; `row` is its shape as in the table. */
export function makeRule(id: string, literals: string[], row: string, note: string): ProviderRule {
  const [first, second] = row.split('<>')
  const left = second === undefined ? undefined : new RegExp(`(?:${first})$`)
  const shape = second ?? (first as string)
  let longest = 0
  for (const [, least, most] of shape.matchAll(/\{(\d{1,5})(?:,(\d{1,5}))?\}/g))
    longest += Number(most ?? least)
  return { id, literals, left, right: new RegExp(`^(?:${shape})`), longest, note }
}
