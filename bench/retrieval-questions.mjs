// Questions with known answers. The words are ours; answers are the first prompts of our own recorded fixtures, or the
// beginnings of ids of the strangers' sessions in ../shared/corpora, whose text is not in this repository.

/** About test/fixtures/agents: answers are sessions whose first prompt begins so. */
export const FIXTURES = [
  [['The tests of calc.js fail'], 'calc.js tests fail bug', 'how was the failing calculator test fixed'],
  [['Think about how many functions'], 'calc.js exports functions', 'how many functions does calc.js export'],
  [
    ['Please explain in detail how the calculator'],
    'explain calculator',
    'explain to me how the calculator works',
  ],
  [['What is the capital of France'], 'capital France', 'what did I ask about the capital of France'],
  [['Remember the number'], 'remember number 4711', 'which number did I ask you to remember'],
  [['First fact'], 'Zorg green sky', 'what colour is the sky on Zorg'],
  [
    ['Delegate counting the files', 'Delegate counting'],
    'delegate counting files',
    'when did an agent delegate counting the files',
  ],
  [['Delegate two things'], 'delegate two things', 'where did I delegate two things at once'],
  [['Delete everything'], 'delete everything', 'who wanted to delete everything and was not allowed'],
  [['Run the slow job'], 'slow job', 'which session started the slow job'],
  [['Session to be archived'], 'session archived', 'the session that was to be archived'],
  [['Set a goal'], 'goal complete', 'where was a goal set and completed'],
  [['Start a background job'], 'background job start', 'when was a job started in the background'],
  [
    ['Start: the codeword', 'Fork A', 'Fork B', 'Codeword HERON', 'Say it in the fork'],
    'codeword HERON',
    'what was the codeword',
  ],
]

/** About ../shared/corpora. */
export const CORPORA = [
  [['codex:38b123ff'], 'mps cuda demos sanity', 'how did we get the repo to run on mps instead of cuda'],
  [['codex:fa24fee9'], 'faceid plusv2 safetensors', 'where did I add the faceid plus model to the generator'],
  [
    ['codex:46fa7ee4'],
    'lora sd15 training script',
    'which session optimized the script that trains the sd15 lora',
  ],
  [
    ['codex:a3e9dc1b', 'codex:75cf1ff9'],
    'ollama default openai flag',
    'when did we make ollama the default and allow openai only with a flag',
  ],
  [
    ['codex:b98b051d', 'codex:79bf51ae', 'codex:7e0bf0fc'],
    'google worlds model',
    'search the web for the latest worlds model of google',
  ],
  [['codex:435aac8f'], 'docker pull local image missing', 'why did docker try to pull the local image'],
  [
    ['codex:8e425abd'],
    'script test orchestrator without ocodex',
    'a simple script to debug how the orchestrator hands over tasks',
  ],
  [
    ['codex:d7a9e0da'],
    'exec json positional orchestrator args',
    'why was json taken for a positional argument by exec',
  ],
  [
    ['codex:09d11c8d'],
    'persistent dev container write lock',
    'where did we add a write lock to serialize tasks that modify files',
  ],
  [['codex:897c57c3'], '2025 released movies', 'which movies were released in 2025'],
  [['codex:0c75382e'], 'network enabled default override', 'when did we enable the network by default'],
  [
    ['codex:f8095a78'],
    'mcp environment keys inherit',
    'why did the mcp server not inherit the api keys of the environment',
  ],
  [['codex:40cb3c9c'], 'canada recession', 'is canada in a recession'],
  [
    ['codex:2876f021'],
    'agent design patterns azure',
    'implement the agent design patterns of the azure guide',
  ],
  [['codex:b9556de1'], 'mcp api key config toml', 'is the mcp api key generated into the config file'],
  [['codex:9cd28a74'], '检查 项目 设计', '检查目前项目的设计'],
  [['codex:613a9a68'], '命令 描述 风格', '每个命令的描述风格似乎不一致'],
  [
    ['codex:019ab760'],
    'collect_advanced_cleanup_ideas docstring',
    'who wrote the docstring of collect_advanced_cleanup_ideas',
  ],
  [['codex:019b05f0'], 'useVoiceInput hook', 'where did we wrap the speech api of the browser in a hook'],
  [
    ['codex:019b520e'],
    'trap dataset benchmark harness',
    'the benchmark of the heuristic scanner with the trap dataset',
  ],
  [
    ['codex:019b59af'],
    'pilot workspace runbook',
    'who drafted the deployment runbook for the pilot workspace',
  ],
  [['codex:019ba670'], 'EmailInbox EmailManager', 'when was the inbox split out of the email manager'],
  [
    ['codex:019bbec8'],
    'SkillRegistry SkillManifest',
    'who implemented the registry of skills that lives in memory',
  ],
  [['codex:019bc035'], 'persona default skill mappings', 'where were the default skills of personas mapped'],
  [
    ['codex:019bc8df'],
    'back-to-launcher testid',
    'which session added the missing test id to the exit button',
  ],
  [['codex:019be2c9'], 'tutorial overlay skip', 'keep the tutorial overlay from blocking automated runs'],
  [
    ['codex:019bf449', 'codex:019bf474'],
    'mock implementations production',
    'audit everything for mock implementations before production',
  ],
  [
    ['codex:019c0186', 'codex:019c06b1'],
    'crowdstrike vendor api',
    'what did we write about the api of crowdstrike',
  ],
  [
    ['codex:019c06b1'],
    'splunk status poll',
    'where do we poll the status of a splunk search before fetching results',
  ],
  [['codex:019c0bb8'], 'PersonaForge modal', 'who built the modal of persona forge with its seven steps'],
  [['codex:019c1d28'], 'vault_demo database', 'how does demo mode get a database with fake data'],
  [
    ['codex:019c1d06'],
    'plugin marketplace catalog guard',
    'an error in the terminal when I open the plugin marketplace',
  ],
  [['codex:019c1699'], 'rust-skills install', 'when were the rust skills installed'],
  [['claude:bc4467a6'], 'greeting function design', 'design a simple function that greets'],
  [['claude:b5fd1043'], 'plan-implement 7757', 'which session implemented plan 7757'],
  [['claude:90bea75d'], 'plan-implement 7799', 'which session implemented plan 7799'],
  [['claude:65d17253'], 'plan-implement 7841', 'where was plan 7841 implemented'],
  [['claude:da7782e5'], 'pr-address 8041', 'who addressed the comments on 8041'],
  [['claude:1d71c9ef'], 'pr-address 8252', 'who addressed the comments on 8252'],
  [['claude:176c738e'], 'cmux registry tests', 'where did we add cmux tests to the registry'],
  [['entire:2dd48f89'], 'threshold flag plan', 'which plan did we save for the threshold flag'],
  [['entire:019eecb9'], 'phoenix traces s3', 'when did we decide to replace phoenix and keep traces in s3'],
  [
    ['entire:019efedf'],
    'expected_output assertions grader',
    'what happens when both expected_output and assertions are defined',
  ],
  [['entire:019eef3d'], 'delete stale branches', 'switch to main and delete the stale branches'],
  [['entire:e3c445a1'], 'review 7360', 'review the pull request 7360 for me'],
  [['entire:db8d3dd4'], 'feasible issues solve', 'which of the open issues are feasible to solve'],
  [['entire:ba3fb03b'], 'markdownlint mdx glob', 'make the markdownlint workflow include mdx files'],
  [['entire:030df228'], 'rename Open Studio button', 'where did we rename the button that opens the studio'],
  [['entire:85307e10'], 'nushell streaming', 'can nushell stream the configuration'],
  [
    ['codex:019be6f1'],
    'sprint-25 alice biometrics',
    'review the branch with the biometrics of alice against main',
  ],
  [
    ['codex:019b0923'],
    'branches merged github',
    'which branches need to be merged and which should not be yet',
  ],
]

/** Nothing that was ever talked about: these must find nothing. */
/**
 * About ../shared/corpora as well, each in one form only: asked by somebody who had made none of the rules, of sessions that
 * no question above is about, before looking at what the rules find.
 */
export const FRESH = {
  keywords: [
    [['claude:30fe1b7c'], 'pancake emoji stale stack merged parent'],
    [['claude:b9986115'], 'pr-address workflow worker-impl cleanup'],
    [['claude:59a56c19'], 'gh workflow run REST dispatch display_title'],
    [['claude:1d18fe67'], 'drop lrn column dash'],
    [['claude:3571ac27'], 'CI check skipped after markdown auto fix commit'],
    [['codex:019b5c95'], 'vite aliases leak verifier frontend'],
    [['codex:019b0c05'], 'orchestration context hook mimic_get_personas logging'],
    [['codex:355594bc'], 'xtts voice cloning kokoro'],
    [['claude:2969822b'], 'dotfiles CLAUDE.md first time'],
    [['claude:f2ece582'], 'plnd branch prefix'],
  ],
  sentences: [
    [['claude:1e9d8584'], 'why did setup-impl crash with a type error'],
    [['claude:7ac7e2e4'], 'when did we change what plan-save prints if you are on trunk'],
    [['codex:fb95c1bf'], 'a game in the terminal written in chinese python'],
    [['codex:019ac9a7'], 'where did we batch the loading of the dashboard for alden into one call'],
    [['codex:019b7b12'], 'which session corrected in the readme that synapse is no persona'],
    [['claude:db9a1ecf'], 'why did the verify step always fail after the implementation was set up'],
    [['codex:0199e4a5'], 'when were the project principles for quality and testing written'],
    [['claude:5cefbbde'], 'how did we make the progress of workflows stay visible instead of in toasts'],
    [['codex:3619d75c'], 'what did we do about the gpu memory error on the mac with the ip adapter'],
    [['codex:85554d39'], 'the session where I asked for the weather'],
  ],
  mistyped: [
    [['claude:8ffb4bea'], 'crptic hf variable inlined'],
    [['claude:094924c5'], 'tripwire unused dataclas ScanContext'],
    [['claude:6c238843'], 'upload_session withuot checkout plumbing'],
    [['claude:2984ccd0'], 'stream objetive updates after landing'],
    [['claude:49008205'], 'worktre name validation agents'],
    [['claude:44dcb1ea'], 'objectives view opne issue page'],
    [['claude:def92114'], 'AI generated sumary above the plan'],
    [['claude:5968a0da'], 'rebase staked branch before gt track'],
    [['claude:92d53b99'], 'sesion discovery logging land'],
    [['codex:019b8286', 'codex:019b8181'], 'alden emial backend commands'],
  ],
}

/** Sentences alone, by a hand that had read the raw files and not the rules; asked once before anything was changed. */
export const LATER = {
  sentences: [
    [
      ['codex:e242c65b'],
      'how did the agents get a shared folder on the host where I can watch the project being written',
    ],
    [
      ['claude:0ff75e51'],
      'why did submit show nothing until it was finished when its output went through a pipe',
    ],
    [['codex:fce98fd7'], 'when did the orchestrator stop hardcoding the number guessing game'],
    [
      ['entire:30e54c59'],
      'why does the prompt still show the old exit code after pressing enter on an empty line',
    ],
    [
      ['entire:6c0a282a'],
      'where did we compare the design of our website with starship and other competitors',
    ],
    [['codex:9aa1574a'], 'which session made the web search read its api keys from the env file'],
    [['claude:9885c0f7'], 'when was an import moved out of a function in the tests of the pr body'],
    [['claude:0821153b'], 'who documented which name validation is for agents and which for people'],
    [['claude:44eda411'], 'when did the toast messages change from submitting to dispatching'],
    [['claude:3a20b8a1'], 'why is the assert after the invariant not redundant'],
    [['codex:019bc89d'], 'what were the proposed goals for sprint 28'],
    [['claude:b3d26d70'], 'the review that wanted a conditional of the view bar as a ternary'],
    [['codex:019bf174'], 'where did we add paging to the history of voice sessions'],
    [['entire:019ed893'], 'what is agentv watch good for if exporting to opik does the same'],
    [['claude:09b68bdd'], 'how do we detect that a new plan duplicates another one'],
    [['claude:33ee02e2'], 'which session fixed how we pass the name of the branch to gt track'],
    [['claude:f4caa9a1'], 'where do we ask a small model for a short name of the branch'],
    [['codex:019c21dc'], 'why is claude not able to switch into our own subagents'],
    [['claude:28ae40cb'], 'what happened when I tried to start claude with npx'],
    [
      ['entire:019f36b8'],
      'make messages of the user look different from those of the assistant in the dashboard',
    ],
  ],
}

/** Asked once after the order of questions was changed with the ones above in view; nothing was changed for these. */
export const LAST = {
  sentences: [
    [['claude:c8bfcab0'], 'where did we replace the bare except around the sync status'],
    [['claude:e80e2b9e'], 'a command that reads a pull request without using up the graphql rate limit'],
    [['claude:2de346eb'], 'which naming pattern do operation ids follow in the tui'],
    [['codex:019c07ca'], 'who built the safety latch for isolating hosts'],
    [['codex:019c1c4f'], 'where is the prioritized backlog of integrations that are missing'],
    [['claude:b606f485'], 'when was the fallback to the issue number removed from the lifecycle update'],
    [['claude:64dbbdc8'], 'why did plan check fail for plans in draft pull requests'],
    [['entire:c3f091b3'], 'how do we resolve merge conflicts of the dashboard sync without force pushing'],
    [['claude:5064441a'], 'when was the prefix of session branches changed to async-learn'],
    [['codex:16853d29'], 'design a lab in which several instances of ocodex talk to each other'],
    [['codex:019be667'], 'who could not find the ledger manager for the key rotation'],
    [['entire:db0876fb'], 'write fizzbuzz with lowercase strings'],
    [['codex:8b2b1191'], 'how can the container reach the model server on the host'],
    [['claude:7b65f52b'], 'one place that formats dates as iso strings'],
    [['claude:4fe8f744'], 'why is an assert for the repo root wrong as control flow'],
    [['claude:27443127'], 'when did draft pull requests become the default backend for plans'],
    [['claude:ebe65926'], 'when did we move the submit command below pr and call it dispatch'],
    [['claude:22db8d99'], 'where did we add json output to the list of plans'],
    [['claude:28a58d13'], 'remove the duplicate ensure methods by inheriting from the protocol'],
    [['codex:019b94fd'], 'the plan of the ui ux engineer for sprint 5'],
  ],
}

export const NEGATIVE = [
  'alpaca sweater knitting',
  'how do I knit a sweater from alpaca wool',
  'zookeeper flamingo quorum',
  'recipe for cinnamon pancakes',
  'which wines go with grilled trout',
  'flibbertigibbet',
  'xylophone tuning for beginners',
  'how often should a ferret be groomed',
  'mitochondria ribosome cytoplasm',
  'quokka habitat in western australia',
  'when was the treaty of westphalia signed',
  'saxophone embouchure exercises',
  'what is the melting point of tungsten carbide',
  'kayak paddle length chart',
  'who won the chess olympiad in tromso',
  'gluten free sourdough starter hydration',
  'baroque harpsichord ornamentation',
  'how to prune a bonsai juniper in winter',
  'volcanic eruption krakatoa tsunami',
  'qwzxkjvbq',
  'marsupial gestation period wombat',
  'where do swallows nest during migration to africa',
  'origami crane folding instructions',
  'saffron harvest yield per hectare',
]
